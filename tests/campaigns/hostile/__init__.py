"""Hostile files, and processes that read them."""
