"""Calls over real sockets: the rules of the simulator as controllers, relays along a source route, Opus audio, an emulator of worlds."""

COMMANDS = {
    ("vcgym.live.config", "vcgym.live.commands"): {
        "call": ("CallConfig", "play_call", "play a live call over real sockets of this machine, and print its result"),
        "join": ("JoinConfig", "join_call", "be one party of a live call"),
        "relay": ("RelayConfig", "run_relay", "forward datagrams of live calls along their source route"),
        "emulate": ("EmulateConfig", "run_emulator", "play a world in real time between the parties of a live call"),
        "measure": ("MeasureConfig", "measure", "probe pairs of hosts, or paths of a session, and write traces"),
    },
}
