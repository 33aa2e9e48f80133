"""Refusals in one line: a value cut to a readable length, and what is wrong with a document, field by field."""

from pydantic import ValidationError

MAX_SHOWN = 80  # characters of a value that an error repeats
MAX_LINE = 300  # characters of an error
_MAX_FAULTS = 3


def shown(value: object, limit: int = MAX_SHOWN) -> str:
    """Return `value` as Python writes it, in ASCII, cut to about `limit` characters."""
    # A long text is cut before it is written out: it may have a gigabyte.
    text = ascii(value[: limit + 1] if isinstance(value, str | bytes) else value)
    return text if len(text) <= limit else f"{text[:limit]}..."


def one_line(text: str, limit: int = MAX_LINE) -> str:
    """Return a text as one line of at most `limit` characters; what is left out is from the middle."""
    line, tail = " ".join(text.split()), limit // 3
    return line if len(line) <= limit else f"{line[: limit - tail - 5]} ... {line[-tail:]}"


def faults(error: ValidationError, where: str = "") -> str:
    """Return the first faults that pydantic found: field, value and allowed range, in one line.

    Args:
        error: of the validation.
        where: the field that was validated, if it is part of another.
    """
    found = error.errors(include_url=False, include_context=False)
    lines = [_fault(".".join([*filter(None, [where]), *map(str, one["loc"])]), one["input"], one["msg"]) for one in found[:_MAX_FAULTS]]
    return "; ".join(lines + ([f"and {len(found) - _MAX_FAULTS} more"] if len(found) > _MAX_FAULTS else []))


def _fault(field: str, value: object, message: str) -> str:
    own = message.removeprefix("Value error, ")
    if own != message:  # a validator of ours names field and value
        return own
    return f"{field or 'content'} is {shown(value)}; {message.replace('Input should be', 'allowed:')}"
