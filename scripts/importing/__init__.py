"""Imports of measured data: what `vcgym-data` can do, and the formats it reads."""
