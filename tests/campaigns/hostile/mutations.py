"""Mutations of files: bytes changed, cut, joined and repeated, JSON with other values, hostile numbers in tensors and tables. Seeded."""

import json
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load, save

NUMBERS = (0, -1, 1, 2**31, -(2**31), 2**53, 2**63 - 1, 2**64, 10**400, 0.5, -1e308, 1e308, 1e-308)
TEXTS = ("", "x" * 100_000, "\x00", "../../etc/passwd", "local-x/../../../victim.txt", "/etc/passwd", "\ud800", "nan", "os.system")
VALUES = (*NUMBERS, *TEXTS, None, True, [], {}, [[[[[[]]]]]], {"__reduce__": "os"})
FLOATS = (0.0, -1e4, 1e4, 1e30, -1e30, 3.4e38, 1e-38, np.nan, np.inf)


def mutated(name, content, rng):
    """Return the mutated content of a file, and the kind of the mutation."""
    kinds = {"bytes": _bytes, "cut": _cut, "joined": _joined, "repeated": _repeated}
    if name.endswith(".json"):
        kinds |= {"values": _values, "nested": _nested, "twice": _twice, "encoded": _encoded, "empty": _empty}
    else:
        kinds |= {"columns": _columns, "metadata": _metadata} if name.endswith(".parquet") else {"numbers": _numbers, "header": _header}
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


def _twice(content, rng):
    """Repeat a member of the outermost object with another value."""
    try:
        tree = json.loads(content)
        key = list(tree)[rng.integers(len(tree))]
    except (ValueError, TypeError):
        return _bytes(content, rng)
    return b"{" + f"{json.dumps(key)}: {json.dumps(VALUES[rng.integers(len(VALUES))])},".encode() + content.lstrip()[1:]


def _encoded(content, rng):
    return content.decode().encode(rng.choice(["utf-16", "utf-32", "utf-8-sig", "cp037"]))


def _empty(content, rng):
    return rng.choice([b"", b" ", b"null", b"{}", b"[]", b"NaN", b'{"": {}}'])


def _columns(content, rng):
    """Change, drop, rename or empty a column of a table, or repeat or drop its rows."""
    table = pq.read_table(BytesIO(content))
    at = int(rng.integers(table.num_columns))
    name, values = table.schema.names[at], table.column(at).to_pylist()
    kind = rng.integers(6)
    if kind == 0:
        return _written(table.drop_columns([name]))
    if kind == 1:
        return _written(table.rename_columns([one if one != name else "other" for one in table.schema.names]))
    if kind == 2:
        return _written(table.slice(0, int(rng.integers(len(table) + 1))))
    if kind == 3:
        return _written(pa.concat_tables([table, table]))
    if kind == 4:
        return _written(table.set_column(at, name, pa.nulls(len(table), table.schema.field(at).type)))
    for _ in range(20):
        hostile = VALUES[rng.integers(len(VALUES))]
        try:
            changed = pa.array([hostile, *values[1:]] if rng.random() < 0.5 else [hostile] * len(values), table.schema.field(at).type)
            return _written(table.set_column(at, table.schema.field(at), changed))
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            continue
    return _bytes(content, rng)


def _metadata(content, rng):
    table = pq.read_table(BytesIO(content))
    held = table.schema.metadata or {}
    changed = {key: _values(value, rng) for key, value in held.items()}
    return _written(table.replace_schema_metadata(changed if rng.random() < 0.8 else None))


def _written(table):
    out = BytesIO()
    pq.write_table(table, out)
    return out.getvalue()
