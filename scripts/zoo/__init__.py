"""The zoo: algorithms on environments, each with several seeds and at two budgets, between published rules and hindsight."""
