"""Fault-injection campaigns: kills, bad files, bad disks, lost nodes. `make campaign SCALE=small|medium|full` runs them."""
