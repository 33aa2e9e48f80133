"""The commands of the laboratory."""

from vcgym.scripts.console.program import Program, commands_of

LAB = Program(
    "python -m lab",
    "lab.conf",
    commands_of(
        {
            ("lab.bench.command", "lab.bench.command"): {
                "bench": ("BenchConfig", "main", "measure speed, each figure beside its aim"),
            },
            ("lab.papers.reproduce.config", "lab.papers.reproduce.command"): {
                "reproduce": ("ReproduceConfig", "main", "compare every published number of a paper with ours, with a verdict"),
            },
            ("lab.papers.truth.command", "lab.papers.truth.command"): {
                "truth": ("TruthConfig", "main", "test the claims of the paper in every kind of world"),
            },
            ("lab.studies.many_calls", "lab.studies.many_calls"): {
                "many-calls": ("ManyCallsConfig", "main", "train agents of calls that share a bottleneck, and compare them with rules"),
            },
            ("lab.studies.headroom.command", "lab.studies.headroom.command"): {
                "headroom": ("HeadroomConfig", "main", "compute oracles on the worlds of a board and the headroom of its systems"),
            },
            ("lab.studies.generalise", "lab.studies.generalise"): {
                "generalise": (
                    "GeneraliseConfig",
                    "main",
                    "train PPO on few worlds and without kinds, and compare with tuned rules",
                ),
            },
            ("lab.learners.allocator_search", "lab.learners.allocator_search"): {
                "train-allocator": ("AllocatorConfig", "main", "search for an allocator of conferences"),
            },
            ("lab.learners.order_search", "lab.learners.order_search"): {
                "train-order": ("OrderConfig", "main", "search the weights of a learned send order"),
            },
            ("lab.learners.gate", "lab.learners.gate"): {
                "train-gate": ("GateConfig", "main", "fit a learned gate of rates"),
            },
            ("lab.learners.pair_config", "lab.learners.study"): {
                "train-pair": ("PairConfig", "main", "teach a router and a lag that play inside the loop, one pair per seed"),
            },
            ("lab.learners.rate_search", "lab.learners.rate_search"): {
                "train-rate": ("RateConfig", "main", "search the weights of a learned rate over rmcat, measured traces and other flows"),
            },
            ("lab.learners.whole_search", "lab.learners.whole_search"): {
                "train-whole": ("WholeConfig", "main", "search the weights of a learned send order on whole calls"),
            },
            ("lab.shipped.sets.making", "lab.shipped.sets.making"): {
                "make-set": ("MakeSetConfig", "main", "rebuild a data set from its source"),
            },
        }
    ),
)
