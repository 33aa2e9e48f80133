"""One-line error texts: values truncated to a readable length, and the invalid fields of a document."""

from pydantic import ValidationError

MAX_SHOWN = 80  # characters of a value that an error repeats
MAX_LINE = 300  # characters of an error
_MAX_FAULTS = 3


def shown(value: object, limit: int = MAX_SHOWN) -> str:
    """Return the ASCII representation of `value`, truncated to about `limit` characters."""
    # A long text, perhaps a gigabyte, is truncated before it is converted.
    text = ascii(value[: limit + 1] if isinstance(value, str | bytes) else value)
    return text if len(text) <= limit else f"{text[:limit]}..."


def one_line(text: str, limit: int = MAX_LINE) -> str:
    """Return a text as one line of at most `limit` characters, shortened in the middle."""
    line, tail = " ".join(text.split()), limit // 3
    return line if len(line) <= limit else f"{line[: limit - tail - 5]} ... {line[-tail:]}"


def faults(error: ValidationError, where: str = "") -> str:
    """Return the first faults that pydantic found, in one line: field, value and allowed range.

    Args:
        error: the validation error.
        where: name of the validated field, if it is part of another document.
    """
    found = [one for one in error.errors(include_url=False, include_context=False) if one["type"] != "default_factory_not_called"]
    lines = [_fault([where, *map(str, one["loc"])], one["input"], one["msg"]) for one in found[:_MAX_FAULTS]]
    return "; ".join(lines + ([f"and {len(found) - _MAX_FAULTS} more"] if len(found) > _MAX_FAULTS else []))


def _fault(place: list[str], value: object, message: str) -> str:
    field = ".".join(one_line(part, MAX_SHOWN) for part in place if part)  # a key may be as long as its file
    own = message.removeprefix("Value error, ")
    if own != message:  # our own validators name field and value
        return own
    allowed = message.replace("Input should be", "allowed:").replace("a valid list", "a list, such as [a,b]")
    allowed = allowed.replace("String should match pattern", "allowed: text of the form")
    return f"{field or 'content'} is {shown(value)}; {allowed}"
