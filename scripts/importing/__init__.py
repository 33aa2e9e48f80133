"""Imports of measured data: the commands of `vcgym data`, and the formats it reads."""
