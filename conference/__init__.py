"""Conferences: several calls that share links, over trees in place of paths; an extension of the gym, which works without it."""
