"""Senders on shared bottlenecks, ranked: rate rule, order rule and pacing on the suites order-v0 and rate-v0; S1 and S4 beside ours."""
