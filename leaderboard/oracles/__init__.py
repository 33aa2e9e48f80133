"""Hindsight bounds: what could have been reached in a world by whoever knew it beforehand. Named `oracle_*`, never ranked.

- `seen.py`: a world as an oracle sees it, every delay, and of losses only their probability
- `sequences.py`: best fixed path, best path sequence with at most k changes, per-packet clairvoyant
- `informed.py`: no oracle but a causal rule that sees all paths at once
- `event.py`: offline optimal playout of given arrivals, event accounting
- `clocked.py`: the same, clocked accounting
- `joint.py`: dynamic programme over path and playout level, clocked accounting
- `rating.py`: from that programme to the best R, and a bound that no policy beats
- `script.py`: path sequences played in a real call
- `rows.py`: the oracles of a world as result rows, kept on disk
"""
