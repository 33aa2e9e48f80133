"""Mutations of files: bytes changed, cut, joined and repeated, JSON with other values, tensors with hostile numbers. Seeded."""

import json

import numpy as np
from safetensors.numpy import load, save

NUMBERS = (0, -1, 1, 2**31, -(2**31), 2**53, 2**63 - 1, 2**64, 10**400, 0.5, -1e308, 1e308, 1e-308)
TEXTS = ("", "x" * 100_000, "\x00", "../../etc/passwd", "nan", "os.system")
VALUES = (*NUMBERS, *TEXTS, None, True, [], {}, [[[[[[]]]]]], {"__reduce__": "os"})
FLOATS = (0.0, -1e4, 1e4, 1e30, -1e30, 3.4e38, 1e-38, np.nan, np.inf)


def mutated(name, content, rng):
    """Return the mutated content of a file, and the kind of the mutation."""
    kinds = {"bytes": _bytes, "cut": _cut, "joined": _joined, "repeated": _repeated}
    kinds |= {"values": _values, "nested": _nested} if name.endswith(".json") else {"numbers": _numbers, "header": _header}
    kind = list(kinds)[rng.integers(len(kinds))]
    return kinds[kind](content, rng), kind


def _bytes(content, rng):
    changed = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 2, 10, 100]))):
        changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _cut(content, rng):
    return content[: rng.integers(len(content))]


def _joined(content, rng):
    return content + rng.bytes(int(rng.choice([1, 8, 1000])))


def _repeated(content, rng):
    start, end = np.sort(rng.integers(len(content), size=2))
    return content[:end] + content[start:]


def _places(tree, place=()):
    """Yield the location of each value."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, inner in items:
        yield (*place, key)
        yield from _places(inner, (*place, key))


def _values(content, rng):
    try:
        tree = json.loads(content)
    except ValueError:
        return _bytes(content, rng)
    places = list(_places(tree))
    for _ in range(int(rng.choice([1, 1, 2, 5]))):
        inner = tree
        place = places[rng.integers(len(places))]
        try:
            for key in place[:-1]:
                inner = inner[key]
            if rng.random() < 0.2:
                del inner[place[-1]]
            else:
                inner[place[-1]] = VALUES[rng.integers(len(VALUES))]
        except (TypeError, LookupError):
            continue  # an earlier change removed the location
    return json.dumps(tree).encode()


def _nested(content, rng):
    depth = int(rng.choice([60, 500, 5000, 100_000]))
    return rng.choice([b"[" * depth, b'{"a":' * depth + b"1" + b"}" * depth, b"[" * depth + b"]" * depth])


def _numbers(content, rng):
    try:
        tensors = {name: array.copy() for name, array in load(content).items()}
    except Exception:
        return _bytes(content, rng)
    name = list(tensors)[rng.integers(len(tensors))]
    array = tensors[name]
    if array.dtype.kind == "f" and array.size:
        array.reshape(-1)[rng.integers(array.size, size=int(rng.choice([1, array.size])))] = FLOATS[rng.integers(len(FLOATS))]
    elif array.size:
        info = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
        value = rng.choice([info.min, info.max, 0, 1]) if info else rng.integers(2)
        array.reshape(-1)[rng.integers(array.size)] = value
    return save(tensors)


def _header(content, rng):
    length = int.from_bytes(content[:8], "little")
    if not 2 <= length <= len(content) - 8:
        return _bytes(content, rng)
    head = _values(content[8 : 8 + length], rng)
    claimed = int(rng.choice([len(head), len(head), len(head) + 1, 2**63, 0]))
    return claimed.to_bytes(8, "little") + head + content[8 + length :]
