"""A sentence model of the MiniLM family in numpy, for the benchmark's second opinion; never part of the package.

Reads tokenizer.json, config.json and model.safetensors from a local directory; downloads nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    Array = Any  # numpy.ndarray; numpy is an extra, and types are checked without it


class Encoder:
    """A loaded model: texts to unit vectors, mean over tokens."""

    def __init__(self, model: Path) -> None:
        self.weights = _weights(model / "model.safetensors")
        config = json.loads((model / "config.json").read_text(encoding="utf-8"))
        self.layers: int = config["num_hidden_layers"]
        self.heads: int = config["num_attention_heads"]
        self.tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)

    def encode(self, texts: Sequence[str]) -> Array:
        """One unit vector a text; texts of the same number of tokens go together, so nothing is padded."""
        by_length: dict[int, list[int]] = {}
        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        for place, ids in enumerate(tokens):
            by_length.setdefault(len(ids), []).append(place)
        vectors = np.zeros((len(texts), self.weights["embeddings.LayerNorm.weight"].size), np.float32)
        for places in by_length.values():
            mean = self._hidden(np.array([tokens[place] for place in places])).mean(axis=1)
            vectors[places] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return vectors

    def _hidden(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> Array:
        weights = self.weights
        hidden = weights["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        hidden = self._norm(hidden + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for number in range(self.layers):
            layer = f"encoder.layer.{number}."
            hidden = self._norm(hidden + self._attention(hidden, layer), layer + "attention.output.LayerNorm")
            inner = _gelu(self._linear(hidden, layer + "intermediate.dense"))
            hidden = self._norm(hidden + self._linear(inner, layer + "output.dense"), layer + "output.LayerNorm")
        return hidden

    def _attention(self, hidden: Array, layer: str) -> Array:
        count, length, width = hidden.shape
        query, key, value = (
            self._linear(hidden, f"{layer}attention.self.{part}").reshape(count, length, self.heads, -1).swapaxes(1, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(2, 3) / np.float32((width // self.heads) ** 0.5)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        return self._linear(mixed.swapaxes(1, 2).reshape(count, length, width), layer + "attention.output.dense")

    def _linear(self, values: Array, name: str) -> Array:
        result: Array = values @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]
        return result

    def _norm(self, values: Array, name: str) -> Array:
        centred = values - values.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        result: Array = scaled * self.weights[name + ".weight"] + self.weights[name + ".bias"]
        return result


def _gelu(values: Array) -> Array:
    # The tanh form: it differs from the exact one by less than these figures show.
    inner = np.float32(0.7978845608) * (values + np.float32(0.044715) * values * values * values)
    result: Array = np.float32(0.5) * values * (1 + np.tanh(inner))
    return result


def _weights(path: Path) -> dict[str, Array]:
    """The tensors of a safetensors file of 32-bit floats: a length, a JSON table of places, the numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    table = json.loads(data[8:start])
    return {
        name.removeprefix("bert."): np.frombuffer(
            data[start + at["data_offsets"][0] : start + at["data_offsets"][1]], np.float32
        ).reshape(at["shape"])
        for name, at in table.items()
        if at.get("dtype") == "F32"
    }
