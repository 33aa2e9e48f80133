"""What protection could give: bounds in hindsight, and all calls of a link protected at once."""
