"""Speed of vcgym compared with other software (`vcgym-bench`); `catalogue.py` lists all figures."""
