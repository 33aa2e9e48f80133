"""Signals that arrive during a request are deferred to its end."""

import signal
import threading

import pytest

from vcgym.agents.tracking.tracking import held_signals


@pytest.fixture
def interruptible():
    """SIGINT raises, also where the tests were started in the background and ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_signal_waits_for_the_end_of_the_block():
    done = []

    @held_signals()
    def request():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append("request")

    with pytest.raises(KeyboardInterrupt):
        request()
    assert done == ["request"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with held_signals():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_makes_its_requests_too():
    done = []

    def work():
        with held_signals():
            done.append("request")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["request"]
