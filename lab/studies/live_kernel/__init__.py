"""Our senders beside the TCP of the Linux kernel, over a queue of the kernel, to compare with the simulator's bottleneck."""
