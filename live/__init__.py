"""Calls over real sockets: the rules of the simulator as controllers, relays along a source route, Opus audio, an emulator of worlds."""
