"""Texts and paths as a user typed them, quoted for hydra, which would read numbers, lists, quotes and interpolations in them.

What keeps a meaning: `null` where the type has it (`./null` is a file of this name); a list in brackets and a mapping in braces where the
type has them; quotes around a whole value, as hydra reads them; in a multirun commas and functions such as choice(a,b); and interpolations
of the command's own keys, of `hydra` and of resolvers, such as ${suite} and ${now:%Y}. A path that exists is always taken as it stands.
"""

import os
import re
from collections.abc import Collection, Iterator, Sequence, Set
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

TEXT, PATH, LIST, MAPPING, NULL, OTHER = "text", "path", "list", "mapping", "null", "other"
"""Forms of a value."""
_QUOTED = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
_ELEMENT = re.compile(rf"\s*({_QUOTED}|\[[^\[\]]*\]|\{{[^{{}}]*\}}|\w+\([^()]*\))\s*(?:,|\Z)|([^,]*)(?:,|\Z)", re.DOTALL)
_ENTRY = re.compile(rf"\s*([^:,]+?)\s*:\s*({_QUOTED}|\[[^\[\]]*\]|.*?)\s*(?:,(?=[^:,]+:)|\Z)", re.DOTALL)
_TOKEN = re.compile(rf"{_QUOTED}|\$\{{[^}}]*\}}|[()\[\]{{}}]|([^'\"()\[\]{{}},]+)", re.DOTALL)
_UNREADABLE = re.compile(r"[^\x00-\x7f]|[=#;&!^<>~`]")
"""Characters that hydra reads only in quotes."""
_FUNCTION = re.compile(r"(?:choice|glob|interval|range|shuffle|sort|tag)\(.*\)", re.DOTALL)
_RESOLVED = r"(?:now|hydra|python_version|oc\.\w+(?:\.\w+)?):[^}]*\}|hydra\.[\w.]+\}"


class Typed(NamedTuple):
    """A value of a key of texts or paths.

    Attributes:
        read: what the key gets: a text, a list of texts, a mapping to them or None.
        written: the same for hydra.
        is_final: False if hydra still puts something in.
    """

    read: Any
    written: str
    is_final: bool


def forms_of(kind: Any) -> set[str]:
    """Return the forms that a type allows; `OTHER` among them: its values are left to hydra."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return forms_of(inside[0])
    if origin in (Union, UnionType):
        return {form for one in inside for form in forms_of(one)}
    if origin in (list, Sequence):
        return {LIST, *(forms_of(inside[0]) & {PATH, OTHER})}
    if origin is dict:
        values = forms_of(inside[1])
        return {MAPPING, *values} | ({OTHER} if MAPPING in values else set())  # of mappings in mappings hydra reads the braces
    if origin is Literal:
        return {TEXT if isinstance(one, str) else NULL if one is None else OTHER for one in inside}
    if kind in (None, NoneType):
        return {NULL}
    return {PATH, TEXT} if kind is Path else {TEXT} if kind is str else {OTHER}


def typed(text: str, forms: Set[str], multirun: bool, known: Collection[str]) -> list[Typed]:
    """Return the value of a key of texts or paths, or each of a multirun.

    Args:
        text: what was typed after the key.
        forms: what `forms_of` returned, without `OTHER`.
        multirun: True if commas separate values.
        known: keys of the command, whose interpolations hydra puts in.
    """
    texts = _elements(text) if multirun and not os.path.exists(text) else [text]
    return [Typed(None, one, False) if multirun and _FUNCTION.fullmatch(one) else _one(one, forms, known) for one in texts]


def readable(text: str, multirun: bool) -> str:
    """Return a value that is left to hydra, with quotes around the texts that it cannot read, also within lists and mappings."""
    if not multirun and not re.search(r"['\"()\[\]{}]", text):
        return quoted(text) if _UNREADABLE.search(text) else text
    opened: list[str] = []

    def read(found: re.Match[str]) -> str:
        if found[1] is None:
            if found[0] in ("(", "[", "{"):
                opened.append(found[0])
            elif found[0] in (")", "]", "}") and opened:
                opened.pop()
        elif opened[-1:] != ["("] and _UNREADABLE.search(found[1]):
            name, colon, value = found[1].partition(":") if opened[-1:] == ["{"] else ("", "", found[1])
            return f"{name}{colon}{quoted(value.strip())}"
        return found[0]

    return _TOKEN.sub(read, text)


def quoted(text: str, known: Collection[str] = ()) -> str:
    """Return a text as hydra writes one, in single quotes; interpolations stay only of `known` keys and of hydra's own."""
    own = "".join(rf"|{re.escape(key)}\}}" for key in known)
    text = re.sub(rf"(\\*)\$\{{(?!{_RESOLVED}{own})", lambda found: found[1] * 2 + r"\${", text)
    return "'" + re.sub(r"(\\*)('|\Z)", lambda found: found[1] * 2 + found[2].replace("'", r"\'"), text) + "'"


def _one(text: str, forms: Set[str], known: Collection[str]) -> Typed:
    is_there = os.path.exists(text)
    if text == "null" and NULL in forms:
        return Typed(None, "null", True)
    if LIST in forms and text.startswith("[") and text.endswith("]") and not is_there:
        inside = [_one(one, forms - {LIST, NULL}, known) for one in _elements(text[1:-1])] if text[1:-1].strip() else []
        return Typed([one.read for one in inside], f"[{','.join(one.written for one in inside)}]", all(one.is_final for one in inside))
    if MAPPING in forms and re.fullmatch(r"\{.*\}", text, re.DOTALL) and not is_there and (entries := _entries(text[1:-1])) is not None:
        of_keys = {key: _one(one, forms - {MAPPING}, known) for key, one in entries.items()}
        written = ",".join(f"{key}:{one.written}" for key, one in of_keys.items())
        return Typed({key: one.read for key, one in of_keys.items()}, f"{{{written}}}", all(one.is_final for one in of_keys.values()))
    if not is_there and re.fullmatch(_QUOTED, text, re.DOTALL):
        text = re.sub(rf"\\(?={text[0]})", "", text[1:-1])
    if PATH in forms and text.startswith("~") and not is_there:
        text = os.path.expanduser(text)
    written = quoted(text, known)
    return Typed(text, written, written == quoted(text) and re.search(rf"\$\{{(?:{_RESOLVED})", text) is None)


def _entries(text: str) -> dict[str, str] | None:
    """Return the values of a mapping by key, each up to the next comma that a key follows; None if it has another form."""
    at, found = 0, {}
    while text[at:].strip():
        if not (match := _ENTRY.match(text, at)):
            return None
        found[match[1]], at = match[2], match.end()
    return found


def _elements(text: str) -> list[str]:
    """Return the elements between commas; a path that exists, and that has commas itself, is one."""
    parts = list(_parts(text))
    found = []
    while parts:
        ends = [end for end in range(len(parts), 1, -1) if os.path.exists(",".join(parts[:end]))]
        length = ends[0] if ends else 1
        first = ",".join(parts[:length])
        found.append(first if os.path.exists(first) else first.strip())
        del parts[:length]
    return found


def _parts(text: str) -> Iterator[str]:
    at = 0
    while match := _ELEMENT.match(text, at):
        yield match[2] if match[1] is None else match[1]
        if match.end() == len(text) and not match[0].endswith(","):
            return
        at = match.end()
