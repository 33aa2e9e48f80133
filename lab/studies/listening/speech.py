"""Speech of eSpeak NG as a free source of sound; the sentences are ours."""

import ctypes

import numpy as np
from numpy.typing import NDArray
from scipy.signal import resample_poly

from vcgym.live.call.audio import RATE_HZ

SENTENCES = (
    "The train to the coast leaves every morning at seven.",
    "She put a cup of green tea on the wooden table.",
    "Five large boats were tied up along the quiet harbour.",
    "Please send the report before the end of the week.",
    "A thin fog lay over the fields until the sun came out.",
    "He forgot which of the two keys would open the garden gate.",
    "Their choice of colours made the whole room look smaller.",
    "Most of the children chose juice and a piece of cake.",
)
VOICES = (b"en-us", b"en-gb", b"en-us+f2", b"en-gb+m3")
_SYNCHRONOUS, _UTF8, _CHARACTERS = 2, 1, 1  # of speak_lib.h


def speech(seconds: float, seed: int) -> NDArray[np.int16]:
    """Return speech of one channel at 48 kHz, exactly `seconds` long; seeds differ in voice and in the order of the sentences.

    Raises:
        ModuleNotFoundError: the extra `listening` is not installed.
        OSError: the synthesiser cannot be started.
    """
    import espeakng_loader

    espeak, heard = ctypes.CDLL(espeakng_loader.get_library_path()), list[NDArray[np.int16]]()
    rate_hz = espeak.espeak_Initialize(_SYNCHRONOUS, 0, espeakng_loader.get_data_path().encode(), 0)
    if rate_hz <= 0:
        raise OSError(f"eSpeak NG does not start with the data in {espeakng_loader.get_data_path()}")

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)
    def keep(samples: "ctypes._Pointer[ctypes.c_short]", count: int, _: int | None) -> int:
        if count > 0:
            heard.append(np.ctypeslib.as_array(samples, (count,)).astype(np.int16))
        return 0

    espeak.espeak_SetSynthCallback(keep)
    espeak.espeak_SetVoiceByName(VOICES[seed % len(VOICES)])
    order = np.random.default_rng(seed).permutation(len(SENTENCES))
    while sum(map(len, heard)) < seconds * rate_hz:
        for sentence in order:
            text = SENTENCES[sentence].encode() + b"\0"
            espeak.espeak_Synth(text, len(text), 0, _CHARACTERS, 0, _UTF8, None, None)
    whole = np.concatenate(heard)[: round(seconds * rate_hz)] / 32768.0
    made = resample_poly(whole, RATE_HZ, rate_hz)[: round(seconds * RATE_HZ)]
    return np.rint(32767.0 * 0.5 * made / np.abs(made).max()).astype(np.int16)
