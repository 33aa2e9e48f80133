"""The laboratory: what was measured about the papers and about vcgym itself. It imports vcgym, is never imported by it, and is in no wheel.

papers     statements of papers, judged by our own calls, and the data they print
studies    questions of our own
bench      speed
learners   how the shipped policies were learned: pair, rate, order, allocator of conferences
shipped    programs that make files of data/ and tables of docs/ anew
notes      what came out, as pages
conf       configs of the commands; `python -m lab` lists them
"""
