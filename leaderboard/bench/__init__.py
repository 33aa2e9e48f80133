"""Speed of vcgym beside other software: `vcgym-bench`, one idea per file, all of them listed in `catalogue.py`."""
