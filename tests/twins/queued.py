"""Packets in a bottleneck, counted from its table of departures."""

import numpy as np


def queued(queue, s, now_us):
    """Return the number of packets queued or in service at bottleneck `s`."""
    entries = np.arange(queue.link[s].left, queue.link[s].entered)
    return int((queue.departs_us[s, entries % queue.departs_us.shape[1]] > now_us).sum())
