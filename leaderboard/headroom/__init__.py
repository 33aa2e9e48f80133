"""Headroom of a suite: oracles beside the best systems, and the room between them, split into routing and playout."""
