"""Configs of the laboratory's commands."""
