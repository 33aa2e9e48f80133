"""Text about a board.

headline               the first three sentences of a report
names                  families of systems, and the meaning of the codes in their names
details                the collapsible tables
beaten_by_tuned_rule   agents and published systems that the best tuned rule beats
left_out               agents that were left out, and why
measured               what was played of the user's own traces, and how it was probed
"""
