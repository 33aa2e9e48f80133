"""Hindsight bounds: the best results attainable with knowledge of the world in advance. Named `oracle_*`, never ranked.

- `seen.py`: a world as an oracle sees it: every delay, but only the probability of losses
- `sequences.py`: a causal rule (not an oracle) that sees all paths at once, and calls that follow a path sequence
- `joint.py`: dynamic program over path and playout level, clocked accounting; `courses.py`: its tables
- `told.py`: controllers that are told the next h ms
- `rating.py`: from that program to the best R, and a bound that no policy exceeds
"""
