"""Results beside what was attainable.

anchored    0 = best published system, 100 = hindsight oracle, with the best tuned rule and `informed` on the same axis
regret      quality that the oracle had and the system had not
pareto      delay against loss: which systems no other one dominates, and the area that they cover
"""
