"""Headroom of a suite: the gap between oracles and the best systems, split into routing and playout."""
