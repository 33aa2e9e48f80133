"""Limits of protection: bounds in hindsight, and all calls of a link protected at once."""
