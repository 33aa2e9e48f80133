"""What the video of a call has earned: as much per packet on time as in vcgym.envs.call.rewards.sender, paid when it has arrived."""

from vcgym.envs.call.rewards.sender import ON_TIME_WORTH
from vcgym.network.bottleneck.send_queue import VIDEO
from vcgym.network.kernels.jit import kernel


@kernel
def earn_video(senders, which, paid, out):
    """Add what each session of `which` has earned to `out` (sessions,), and write the packets that is for into `paid` (sessions,)."""
    for s in which:
        on_time = senders[s].counts[VIDEO].on_time
        out[s] += ON_TIME_WORTH[VIDEO] * (on_time - paid[s])
        paid[s] = on_time
