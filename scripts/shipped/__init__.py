"""Programs that make shipped files anew, run by developers: ``python -m vcgym.scripts.shipped.NAME``."""
