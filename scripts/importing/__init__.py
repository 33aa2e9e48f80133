"""Imports of measured data: the commands `vcgym data`, `vcgym import` and `vcgym fit`, and the formats they read."""
