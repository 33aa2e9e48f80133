"""vcgym: gym, training pipeline and leaderboard for low-latency video conferencing.

`gymnasium.make("vcgym/Call-v1")` needs no import: an installation tells gymnasium the ids; elsewhere `import vcgym.envs` does.

    vcgym.envs         environments of calls, features and rewards
    vcgym.baselines    published and tuned rules; `vcgym.baselines.systems.load_system("VIA-WM")`
    vcgym.agents       training, learned policies; `vcgym.agents.sb3.make_vec_env` for Stable-Baselines3
    vcgym.leaderboard  suites, ranking, statistics
    vcgym.network      worlds, traces, bottleneck and player
    vcgym.predictors   forecasts of delay
    vcgym.live         calls over real sockets
    vcgym.submissions  agents from elsewhere, played and verified

The program `vcgym` runs it from a shell: `vcgym --help`.
"""

__version__ = "1.0.0rc1"
