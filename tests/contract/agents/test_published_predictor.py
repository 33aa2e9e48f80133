"""Published predictors: they round-trip bit for bit, and no broken or hostile file is loaded or executed."""

import hashlib
import io
import json
import os
import pickle
import struct
import zipfile
from importlib import resources

import numpy as np
import pytest
from pydantic import ValidationError
from safetensors.numpy import load_file, save
from trap import Trap
from untrained import random_network

from vcgym.predictors.mlp import Network
from vcgym.predictors.predictor import predict_each
from vcgym.predictors.published import (
    CARD,
    LARGEST_BYTES,
    SHIPPED,
    WEIGHTS,
    Training,
    load_network,
    publish,
    read_card,
    shipped_network,
)

NETWORK = random_network(1)
TRAINING = Training(data_sha256="0" * 64, modes=["paper"], jitter="lag", seed=3, rows=360_000, metrics={"rmse_ms": 41.5, "r2": 0.98})


@pytest.fixture
def folder(tmp_path):
    publish(tmp_path / "predictor", NETWORK, TRAINING)
    return tmp_path / "predictor"


def test_what_is_published_comes_back(folder):
    loaded = load_network(folder)
    for given, found in zip(NETWORK, loaded, strict=True):
        assert found.dtype == np.float32 and found.tobytes() == given.tobytes() and found.ctypes.data % 64 == 0
    assert predict_each(loaded, 100.0, 30.0) == predict_each(NETWORK, 100.0, 30.0)
    card = read_card(folder)
    assert card.training == TRAINING
    assert (*card.inputs, card.output) == ("transmit_delay_ms", "jitter_ms", "e2e_ms")
    assert set(load_file(folder / WEIGHTS)) == set(Network._fields)
    assert (folder / WEIGHTS).stat().st_size < 40_000


def test_the_same_network_is_the_same_bytes(folder, tmp_path):
    publish(tmp_path / "again", NETWORK, TRAINING)
    for name in (WEIGHTS, CARD):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_nothing_is_overwritten(folder):
    with pytest.raises(FileExistsError, match=r"predictor\.json exists already"):
        publish(folder, random_network(2), TRAINING)
    np.testing.assert_array_equal(load_network(folder).weights_2, NETWORK.weights_2)


@pytest.mark.parametrize("name", [WEIGHTS, CARD])
def test_a_file_is_whole_or_absent(tmp_path, monkeypatch, name):
    sync, left = os.fsync, [WEIGHTS, CARD].index(name)

    def fail(handle):
        nonlocal left
        if not left:
            raise OSError(28, "No space left on device")
        left -= 1
        sync(handle)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        publish(tmp_path / "new", NETWORK, TRAINING)
    assert {path.name for path in (tmp_path / "new").iterdir()} == ({WEIGHTS} if name == CARD else set())
    monkeypatch.setattr(os, "fsync", sync)
    publish(tmp_path / "new", NETWORK, TRAINING)
    assert read_card(tmp_path / "new").training == TRAINING


def zipped(content):
    """As torch.save lays it out."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", content)
    return file.getvalue()


def behind_a_header(content):
    """A safetensors file whose only array is a pickle."""
    header = json.dumps({"weights_1": {"dtype": "U8", "shape": [len(content)], "data_offsets": [0, len(content)]}}).encode()
    return struct.pack("<Q", len(header)) + header + content


@pytest.mark.parametrize("wrap", [bytes, zipped, behind_a_header], ids=["bare", "zipped", "behind a header"])
@pytest.mark.parametrize("name", [WEIGHTS, CARD])
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_refused_and_never_run(folder, tmp_path, wrap, name, protocol):
    content = pickle.dumps(Trap(tmp_path / "trapped"), protocol)
    (folder / name).write_bytes(wrap(content))
    with pytest.raises(ValueError, match=name):
        load_network(folder)
    assert not (tmp_path / "trapped").exists()
    pickle.loads(content)  # the trap is a true one
    assert (tmp_path / "trapped").exists()


def tensors(**changes):
    """Content of a weights file with arrays changed; None leaves one out."""
    arrays = {**NETWORK._asdict(), **changes}
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items() if array is not None})


def with_value(name, value):
    array = getattr(NETWORK, name).copy()
    array.flat[-1] = value
    return {name: array}


BROKEN = {
    "shape": (tensors(weights_3=np.zeros((64, 63), np.float32)), r"Network\.weights_3 has shape \(64, 63\).*allowed is \(64, 64\)"),
    "float64": (tensors(weights_2=NETWORK.weights_2.astype(np.float64)), r"weights_2 is of type F64; allowed is F32"),
    "float16": (tensors(biases_4=NETWORK.biases_4.astype(np.float16)), r"biases_4 is of type F16"),
    "integers": (tensors(biases_2=np.zeros(64, np.int32)), r"biases_2 is of type I32"),
    "NaN": (tensors(**with_value("weights_2", np.nan)), r"Network\.weights_2 holds nan"),
    "missing": (tensors(biases_3=None), r"lacks \['biases_3'\] and has \[\]"),
    "one too many": (tensors(momentum=np.zeros(3, np.float32)), r"lacks \[\] and has \['momentum'\]"),
    "empty file": (b"", r"no safetensors file"),
    "too large": (tensors() + bytes(LARGEST_BYTES), r"size in bytes is \d+; allowed: a plain file of at most 262144 bytes"),
    "a header that never ends": (b"\xff" * 4096, r"no safetensors file"),
    "bytes after the end": (tensors() + b"\x00", r"no safetensors file"),
    "other weights": (tensors(**with_value("weights_2", 0.5)), r"SHA-256 is .*, expected .* the weights_sha256 of .*predictor\.json"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_weights_are_refused_by_name(folder, content, message):
    (folder / WEIGHTS).write_bytes(content)
    with pytest.raises(ValueError, match=rf"(?s)predictor\.safetensors.*{message}"):
        load_network(folder)


def test_broken_values_are_refused_whatever_the_card_says(folder):
    """The card's hash is no licence: it fits the broken file here."""
    for content, message in (BROKEN["NaN"], BROKEN["shape"]):
        card = json.loads((folder / CARD).read_text())
        card["weights_sha256"] = hashlib.sha256(content).hexdigest()
        (folder / CARD).write_text(json.dumps(card))
        (folder / WEIGHTS).write_bytes(content)
        with pytest.raises(ValueError, match=message):
            load_network(folder)


def test_a_file_cut_anywhere_is_refused(folder):
    whole = (folder / WEIGHTS).read_bytes()
    for length in (1, 7, 8, 9, 100, 1000, len(whole) // 2, len(whole) - 4, len(whole) - 1):
        (folder / WEIGHTS).write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"predictor\.safetensors is no safetensors file, or part of one"):
            load_network(folder)


@pytest.mark.parametrize("name", [WEIGHTS, CARD])
def test_a_missing_file_and_a_folder_in_its_place_are_refused(folder, name):
    (folder / name).unlink()
    with pytest.raises(ValueError, match=rf"{name}: file is "):
        load_network(folder)
    (folder / name).mkdir()
    with pytest.raises(ValueError, match=rf"{name}: file is "):
        load_network(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, r"format"),
        ({"inputs": ["jitter_ms", "transmit_delay_ms"]}, r"inputs"),
        ({"output": "e2e_s"}, r"output"),
        ({"weights_sha256": "abc"}, r"weights_sha256"),
        ({"training": {**TRAINING.model_dump(), "jitter": "sd"}}, r"training\.jitter"),
        ({"training": {**TRAINING.model_dump(), "rows": 0}}, r"training\.rows"),
        ({"training": {**TRAINING.model_dump(), "modes": []}}, r"training\.modes"),
        ({"pickle": "cos\nsystem"}, r"pickle is .*; Extra inputs are not permitted"),
    ],
)
def test_a_broken_card_is_refused_by_field(folder, change, message):
    card = json.loads((folder / CARD).read_text())
    (folder / CARD).write_text(json.dumps(card | change))
    with pytest.raises(ValueError, match=rf"(?s)predictor\.json is no predictor's card.*{message}"):
        load_network(folder)


def test_metrics_are_finite():
    with pytest.raises(ValidationError, match=r"metrics\.rmse_ms\n.*finite"):
        Training(**TRAINING.model_dump() | {"metrics": {"rmse_ms": float("nan")}})


def test_no_broken_network_is_published(tmp_path):
    with pytest.raises(ValueError, match=r"Network\.biases_1 holds nan"):
        publish(tmp_path / "new", NETWORK._replace(biases_1=np.full(64, np.nan, np.float32)), TRAINING)
    assert not (tmp_path / "new").exists()


def test_the_shipped_network_is_what_its_card_says():
    """Trained on the lag, which is what rules feed it; every call gives the same object."""
    with resources.as_file(resources.files("vcgym.data").joinpath(SHIPPED)) as folder:
        card = read_card(folder)
        assert (folder / WEIGHTS).stat().st_size < 50_000
    assert card.training.jitter == "lag"
    assert shipped_network() is shipped_network()
    assert 100.0 < predict_each(shipped_network(), 100.0, 30.0) < 160.0
