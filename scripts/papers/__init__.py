"""Commands that judge the statements of papers."""
