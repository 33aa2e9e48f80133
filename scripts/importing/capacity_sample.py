"""Generate data/generated_cellular.csv.gz and its card: synthetic traces of `network/bottleneck/capacity/cellular_like.py`."""

import gzip
import hashlib
import json
from pathlib import Path

from vcgym.network.bottleneck.capacity.cellular_like import draw_cellular
from vcgym.network.bottleneck.capacity.sets import GENERATED
from vcgym.network.traces.cards import card_path

TRACES = 20


def content() -> bytes:
    """Return the CSV, not compressed."""
    lines = ["trace,t_s,mbps"]
    for seed in range(TRACES):
        times_s, rates = draw_cellular(seed)
        lines += [f"generated_{seed:02d},{at_s:.1f},{mbps:.3f}" for at_s, mbps in zip(times_s, rates, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def write_cellular(path: Path) -> None:
    """Write the file and its card."""
    made = content()
    path.write_bytes(gzip.compress(made, mtime=0))
    card = {
        "name": GENERATED,
        "description": f"{TRACES} capacity traces like those of cellular links, 120 s each, a rate every 0.2 s",
        "source": "made for this project by network/bottleneck/capacity/cellular_like.py; nothing was measured",
        "licence": "MIT, as this project",
        "sha256": hashlib.sha256(made).hexdigest(),
        "kind": "synthesised",
        "units": "seconds and Mbit/s",
    }
    card_path(path).write_text(json.dumps(card, indent=1) + "\n")
