"""How fast vcgym is, and what it is fast compared with: `vcgym-bench`, one idea per file, all of them listed in `catalogue.py`."""
