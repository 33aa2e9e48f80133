"""Random reports for rate controllers: bursts of loss, queues that build up and drain, silences, marks, late or sparse reports."""

import numpy as np

from vcgym.baselines.records import NOT_ARRIVED, PacketFeedback, SenderStatus


def drawn_reports(seed, count=400):
    """Reports as (packets told of, `SenderStatus`, time); the last packet of each has arrived."""
    draws = np.random.default_rng(seed)
    now_us, packet, queue_us, sent, captured, frames = 0, 0, 0.0, 0, 0, 0
    reports, loses, waiting = [], 0.0, []
    for number in range(count):
        gap_us = int(draws.choice([5_000, 20_000, 33_000, 100_000, 700_000], p=[0.2, 0.3, 0.3, 0.18, 0.02]))
        if number % 40 == 0:
            loses = draws.choice([0.0, 0.0, 0.02, 0.2])
            drift_us, marks = draws.choice([-8_000.0, 0.0, 3_000.0, 9_000.0]), draws.choice([0.0, 0.3])
        queue_us = min(max(queue_us + drift_us + draws.normal(0.0, 2_000.0), 0.0), 300_000.0)
        for at_us in np.sort(now_us + draws.integers(0, gap_us, int(draws.integers(1, 8)))):
            size = int(draws.integers(60, 1400))
            lost = draws.random() < loses
            arrived_us = NOT_ARRIVED if lost else int(at_us + 25_000 + queue_us + draws.integers(0, 400))
            waiting.append((packet, size, int(at_us), arrived_us, int(draws.random() < marks and not lost)))
            packet, sent = packet + 1, sent + size
        now_us += gap_us
        frame_bytes = int(draws.integers(200, 9000))
        captured, frames = captured + frame_bytes, frames + int(draws.random() < 0.6)
        told = max((i + 1 for i, one in enumerate(waiting) if one[3] != NOT_ARRIVED), default=0)
        told = int(draws.integers(told // 2, told + 1)) if told else 0
        while told and waiting[told - 1][3] == NOT_ARRIVED:
            told -= 1
        known_us = now_us + 330_000
        if told:
            packets = [PacketFeedback(n, size, at, arrived, known_us, marked) for n, size, at, arrived, marked in waiting[:told]]
            news = SenderStatus(int(draws.integers(0, 1500)), captured, sent, frames, frame_bytes, 33_333)
            reports.append((packets, news, known_us))
            waiting = waiting[told:]
    return reports
