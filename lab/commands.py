"""The commands of the laboratory, by the names of their files in lab/conf."""

from vcgym.scripts.console.program import Program

LAB = Program(
    "python -m lab",
    "lab.conf",
    {
        "bench": "lab.bench.command",
        "reproduce": "lab.papers.reproduce.command",
        "truth": "lab.papers.truth.command",
        "headroom": "lab.studies.headroom.command",
        "train_allocator": "lab.learners.commands.train_allocator",
        "train_order": "lab.learners.commands.train_order",
        "train_pair": "lab.learners.commands.train_pair",
        "train_rate": "lab.learners.commands.train_rate",
        "train_whole": "lab.learners.commands.train_whole",
        "make_set": "lab.shipped.sets.command",
    },
)
