"""What a session has earned since its last decision, from the integer totals of its books: steps of any length add up to the call's."""

from vcgym.network.kernels.jit import kernel
from vcgym.network.playout.quality import LOSS_PRICE, emission_reward, emodel_return, impairment_sum

REWARDS = ("emodel", "event")
ACCOUNTS = 4


@kernel
def earn_emodel(calls, which, paid, out):
    """Write what each session of `which` has earned into `out` (sessions,), and what that is for into `paid` (sessions, ACCOUNTS)."""
    for s in which:
        books = calls[s].books
        concealed, offset_us, excess_us = books.ticks_concealed, books.offset_us_sum, books.excess_us_sum
        ticks = books.ticks_played + books.ticks_stretched + concealed
        impairment = impairment_sum(offset_us - paid[s, 2], excess_us - paid[s, 3])
        out[s] = emodel_return(ticks - paid[s, 0], impairment, concealed - paid[s, 1])
        paid[s, 0], paid[s, 1], paid[s, 2], paid[s, 3] = ticks, concealed, offset_us, excess_us


@kernel
def earn_event(calls, which, paid, out):
    """As `earn_emodel`, in the event accounting."""
    for s in which:
        delay_us, missed = calls[s].receiver.delay_us_sum, calls[s].receiver.missed
        out[s] = emission_reward(delay_us - paid[s, 0]) - LOSS_PRICE * (missed - paid[s, 1])
        paid[s, 0], paid[s, 1] = delay_us, missed
