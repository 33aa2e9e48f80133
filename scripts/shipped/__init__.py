"""Programs that regenerate shipped files, for developers: ``python -m vcgym.scripts.shipped.NAME``."""
