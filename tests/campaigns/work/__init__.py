"""Small pieces of every kind of long work, as processes that can be disturbed."""
