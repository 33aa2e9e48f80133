"""Submissions of others: a folder of a card and weights, read with no pickle and none of their code, played, logged and replayed."""
