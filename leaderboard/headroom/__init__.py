"""How much there is to be won on a suite: oracles beside the best systems, and the room between them, split into routing and playout."""
