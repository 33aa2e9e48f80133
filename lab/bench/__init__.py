"""Speed of vcgym compared with other software (`python -m lab bench`); `catalogue.py` lists all figures."""
