"""Programs that regenerate files of data/ and tables of docs/: ``python -m lab.shipped.NAME``."""
