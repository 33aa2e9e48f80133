"""Text about a board.

sentences              the first sentences of a report, and who is beaten by the best tuned rule
systems                names of systems in words, and the list of systems
names                  families of systems, and the meaning of the codes in their names
remarks                what was played of the user's own traces, and agents that were left out
"""
