"""The time grid of a call: one packet per slot of 10 ms, worlds made in blocks of slots."""

SLOT_US = 10_000
BLOCK_SLOTS = 512
LOST = -1  # in place of a one-way delay: the packet never arrives
