"""Questions of our own.

decision_value   what prediction is worth to routing
defaults         which defaults of environments let a learner learn
fit              how well the fitted worlds agree with the measurements
forecasts        methods of forecasting delay, compared
headroom         what hindsight could gain above the systems of a board
listening        R next to an objective measure of speech
live_calls       live calls next to the same worlds in the simulator
live_kernel      the bottleneck next to the one of the Linux kernel
offline          learning from logged calls
oracles          bounds of hindsight
"""
