"""Fit the shipped link parameters again: ``python -m vcgym.scripts.shipped.fit_links`` with VCGYM_DATA set writes them into data/."""


from vcgym.network.fitting.cloud import fit_cloud
from vcgym.network.fitting.links import fit_ten_places, write_table
from vcgym.network.fitting.world import write_sample
from vcgym.network.traces.cards import data_root
from vcgym.network.traces.catalogue import shipped


def main() -> None:
    """Fit and write."""
    root, output = data_root(), shipped()
    write_table(fit_ten_places(root), output / "wonderproxy_ten_places.json")
    write_table(fit_cloud(root), output / "cloud.json")
    write_sample(root, output / "world_links.csv.gz")


if __name__ == "__main__":
    main()
