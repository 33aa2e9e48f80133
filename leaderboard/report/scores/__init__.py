"""Results relative to what was attainable.

anchored    0 = best published system, 100 = hindsight oracle, with the best tuned rule and `informed` on the same axis
pareto      delay against loss: the systems that no other one dominates, and the area that they cover
"""
