"""Speed of vcgym (`python -m lab bench`); `catalogue.py` lists all figures."""
