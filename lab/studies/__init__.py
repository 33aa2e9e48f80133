"""Questions of our own. What was measured by code that is gone stands in lab/notes, with the last commit that had it.

headroom     what hindsight could gain above the systems of a board
oracles      bounds of hindsight
generalise   PPO on few worlds and without kinds
many_calls   agents of calls that share a bottleneck
offline      agents from recorded calls
"""
