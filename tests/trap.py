"""An object whose pickle does harm when it is read."""

import os


class Trap:
    """Unpickled, it makes a folder."""

    def __init__(self, folder="harmed"):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)
