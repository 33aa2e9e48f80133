"""Commands of live calls."""
