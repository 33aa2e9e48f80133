"""``python -m lab`` in the root of a checkout lists the commands of the laboratory; ``python -m lab NAME key=value`` runs one."""

from lab.commands import LAB

if __name__ == "__main__":
    LAB.main()
