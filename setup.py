"""Lets an editable installation lay out data files as well: setuptools asks a distribution for `has_data`, which none answers."""

from setuptools import Distribution, setup


class WithData(Distribution):
    """Distribution that says whether it has data files under the name that `editable_wheel` asks for."""

    def has_data(self) -> bool:
        """Return True if there are data files."""
        return bool(self.has_data_files())


setup(distclass=WithData)
