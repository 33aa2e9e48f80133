"""A board in words.

headline               the three sentences that a report begins with
names                  families of systems, and what the codes in their names stand for
details                the tables that fold out
beaten_by_tuned_rule   agents and published systems that the best tuned rule beats
left_out               agents that were left out, and why
"""
