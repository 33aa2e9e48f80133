"""Write a figure as a small PNG of few colours; the same figure gives the same bytes."""

from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image


def save_small(figure: Figure, path: Path, dpi: int, shades: int) -> Path:
    """Write a figure as a PNG file and return its path.

    Args:
        figure: the figure.
        path: the file; its folder is made if it does not exist.
        dpi: pixels per inch.
        shades: number of colours, 1 to 256.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi, metadata={"Software": None})
    Image.open(path).quantize(shades).save(path, optimize=True)
    return path
