"""Submissions: a folder with a card and weights, read without pickle and without running its code, played, logged and replayed."""
