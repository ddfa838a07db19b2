"""Vectors by a sentence-transformers model that lies in a folder: BERT and its kin, with numpy and tokenizers.

Reads config.json, tokenizer.json, model.safetensors and the small files beside them. Nothing is downloaded, and no code
of the folder is run. A model of another build is refused, not guessed at.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from contextasm.retrieval.embeddings.request import EmbeddingFailed, EmbeddingRequest, Vector

if TYPE_CHECKING:
    Array = Any  # numpy.ndarray; numpy is an extra, and types are checked without it

_WEIGHTS = "model.safetensors"

_THREADS = "OPENBLAS_NUM_THREADS"

_KINDS = {"F32": "<f4", "F16": "<f2"}
"""The numbers that a file of weights may hold, by their name there."""


class _Model(NamedTuple):
    """A model as loaded."""

    weights: Mapping[str, Array]
    tokenizer: Any
    layers: int
    heads: int
    epsilon: float
    by_first: bool
    """A text's vector is that of its first token; else the mean over its tokens."""


def weights_path(folder: str, root: str) -> str:
    """Where the numbers of a configured model lie."""
    return os.path.join(_place(folder, root), _WEIGHTS)


def _place(folder: str, root: str) -> str:
    return os.path.join(root, os.path.expanduser(folder))


def embed_by_folder(job: EmbeddingRequest) -> Iterator[Vector]:
    """The vectors, one text after the other; `EmbeddingFailed` where the model can't be used.

    One at a time is as fast as many (measured): what a text is made into then stays in the processor's cache.
    """
    model = _loaded(_place(job.embedder.folder, job.root))
    for text in job.texts:
        job.left()
        hidden = _hidden(model, model.tokenizer.encode(text).ids)
        vector = hidden[0] if model.by_first else hidden.mean(axis=0)
        yield [float(value) for value in vector]


def _loaded(folder: str) -> _Model:
    """The model of a folder. Raises `EmbeddingFailed` for one that is not there, damaged, or of another build."""
    try:
        with _one_thread():
            import numpy  # noqa: F401, ICN001 - here for its threads
        from tokenizers import Tokenizer

        config = _json(folder, "config.json")
        _refuse_other(config, _json(folder, "modules.json"))
        tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_json(folder, "sentence_bert_config.json")["max_seq_length"])
        model = _Model(
            weights=_weights(os.path.join(folder, _WEIGHTS)),
            tokenizer=tokenizer,
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            epsilon=config["layer_norm_eps"],
            by_first=_by_first(_json(folder, "1_Pooling/config.json")),
        )
        _hidden(model, tokenizer.encode("whole?").ids)
    except EmbeddingFailed:
        raise
    except ImportError as error:
        raise EmbeddingFailed(f"needs what `pip install contextasm[semantic]` brings ({error})") from error
    except OSError as error:
        raise EmbeddingFailed(f"can't be used: {error.filename}: {error.strerror}") from error
    except Exception as error:  # tokenizers raises nothing narrower, and a damaged model has many ways to fail
        raise EmbeddingFailed(
            f"can't be used: it is damaged, or of another build ({type(error).__name__}: {error})"
        ) from error
    return model


@contextmanager
def _one_thread() -> Iterator[None]:
    """Have numpy, if it is imported here for the first time, multiply in one thread.

    The matrices of a sentence are small: on a busy machine waiting for each other made two threads five times slower
    (measured). A number that the environment names stands.
    """
    if _THREADS in os.environ:
        yield
        return
    os.environ[_THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[_THREADS]


def _json(folder: str, name: str) -> Any:
    """What one of the small files says."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def _refuse_other(config: Mapping[str, Any], modules: Sequence[Mapping[str, str]]) -> None:
    """Raise for a model that does more, or something else, than is done here."""
    expected = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    for key, value in expected.items():
        if config.get(key, value) != value:
            raise EmbeddingFailed(f"can't be used: its {key} is {config[key]}, not {value}")
    steps = [module["type"].rpartition(".")[2] for module in modules]
    if steps not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise EmbeddingFailed(f"can't be used: it is made of {', '.join(steps)}")


def _by_first(pooling: Mapping[str, Any]) -> bool:
    """Whether a text's vector is that of its first token. Raises for a model that takes neither that nor the mean."""
    modes = {name for name, chosen in pooling.items() if name.startswith("pooling_mode_") and chosen}
    if modes not in ({"pooling_mode_cls_token"}, {"pooling_mode_mean_tokens"}):
        raise EmbeddingFailed(
            f"can't be used: it takes {', '.join(sorted(modes)) or 'neither the first token nor the mean'}"
        )
    return "pooling_mode_cls_token" in modes


def _weights(path: str) -> dict[str, Array]:
    """The tensors of a safetensors file: a length, a JSON table of places, the numbers."""
    import mmap

    import numpy as np

    with open(path, "rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    start = 8 + int.from_bytes(data[:8], "little")
    found: dict[str, Array] = {}
    for name, at in json.loads(bytes(data[8:start])).items():
        if at.get("dtype") in _KINDS:
            first, behind = at["data_offsets"]
            numbers = np.frombuffer(data[start + first : start + behind], _KINDS[at["dtype"]])
            found[name.removeprefix("bert.")] = numbers.reshape(at["shape"]).astype(np.float32, copy=False)
    return found


def _hidden(model: _Model, ids: Sequence[int]) -> Array:
    """What the last layer makes of a text, a row for each token."""
    weights = model.weights
    hidden = weights["embeddings.word_embeddings.weight"][list(ids)]
    hidden = hidden + weights["embeddings.position_embeddings.weight"][: len(ids)]
    hidden = hidden + weights["embeddings.token_type_embeddings.weight"][0]
    hidden = _normed(model, hidden, "embeddings.LayerNorm")
    for number in range(model.layers):
        layer = f"encoder.layer.{number}."
        hidden = _normed(model, hidden + _attention(model, hidden, layer), f"{layer}attention.output.LayerNorm")
        inner = _gelu(_linear(model, hidden, f"{layer}intermediate.dense"))
        hidden = _normed(model, hidden + _linear(model, inner, f"{layer}output.dense"), f"{layer}output.LayerNorm")
    return hidden


def _attention(model: _Model, hidden: Array, layer: str) -> Array:
    """What each token takes from the others."""
    import numpy as np

    length, width = hidden.shape
    query, key, value = (
        _linear(model, hidden, f"{layer}attention.self.{part}").reshape(length, model.heads, -1).swapaxes(0, 1)
        for part in ("query", "key", "value")
    )
    scores = query @ key.swapaxes(1, 2) / np.float32((width // model.heads) ** 0.5)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
    return _linear(model, mixed.swapaxes(0, 1).reshape(length, width), f"{layer}attention.output.dense")


def _linear(model: _Model, values: Array, name: str) -> Array:
    result: Array = values @ model.weights[f"{name}.weight"].T + model.weights[f"{name}.bias"]
    return result


def _normed(model: _Model, values: Array, name: str) -> Array:
    """The rows with mean 0 and variance 1, scaled and shifted as the model has it."""
    import numpy as np

    centred = values - values.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(model.epsilon))
    result: Array = scaled * model.weights[f"{name}.weight"] + model.weights[f"{name}.bias"]
    return result


def _gelu(values: Array) -> Array:
    """By the hyperbolic tangent: numpy has no error function, and the cosines differ in the fourth digit."""
    import numpy as np

    inner = np.float32(0.7978845608) * (values + np.float32(0.044715) * values * values * values)
    result: Array = np.float32(0.5) * values * (1 + np.tanh(inner))
    return result
