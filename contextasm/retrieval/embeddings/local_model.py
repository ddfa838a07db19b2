"""Vectors by a sentence-transformers model in a folder: its ONNX file, run by onnxruntime, and its tokenizer.json.

Nothing is downloaded or sent. No code of the folder is run: onnxruntime refuses operators that are not its own, and
weights outside of the folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shlex import quote
from typing import Any

from contextasm.retrieval.embeddings.request import EmbeddingFailed, EmbeddingRequest, Vector

_MODEL_FILES = ("onnx/model.onnx", "model.onnx")
"""Places of the ONNX file in a folder; the first one is where sentence-transformers writes it."""

_TEXT_OUTPUT = "sentence_embedding"
_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")

_POOLING = {"cls": "first", "pooling_mode_cls_token": "first", "mean": "mean", "pooling_mode_mean_tokens": "mean"}
"""How the vectors of the tokens become that of the text, by its name in new and in old folders."""

_NO_LIMIT = 1 << 20
"""A number of tokens that means none: folders write 10 ** 30."""


def model_path(folder: str, root: str) -> str:
    """Path of the ONNX file of a configured folder; without one, the path that it should have."""
    paths = [os.path.join(root, os.path.expanduser(folder), name) for name in _MODEL_FILES]
    return next(filter(os.path.isfile, paths), paths[0])


def embed_by_folder(job: EmbeddingRequest) -> Iterator[Vector]:
    """The vector of each text, in order.

    Raises `EmbeddingFailed` if the model can't be used, `EmbeddingUnfinished` after the deadline.
    """
    embed = _load_model(os.path.join(job.root, os.path.expanduser(job.embedder.folder)))
    for text in job.texts:
        job.seconds_left()
        yield embed(text)


def _load_model(folder: str) -> Callable[[str], Vector]:
    # From 1.29 on, onnxruntime reports to its maker unless this is set before it starts.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        from onnxruntime import InferenceSession, SessionOptions
        from tokenizers import Tokenizer
    except ImportError as error:
        raise EmbeddingFailed(f"needs the libraries of `pip install 'contextasm[semantic]'` ({error})") from error
    path = _require_model_file(folder)
    with _convert_failures(folder):
        tokenizer = Tokenizer.from_file(_require(folder, "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_read_max_tokens(folder))
        options = SessionOptions()
        options.log_severity_level = 4  # what goes wrong is raised
        # On a busy machine two threads took twice the time of one, and batches no less than one text at a time.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = InferenceSession(path, options, providers=["CPUExecutionProvider"])
        output, pooling = _choose_output(folder, session)

    def embed(text: str) -> Vector:
        with _convert_failures(folder):
            tokens = tokenizer.encode(text)
            arrays = {
                "input_ids": tokens.ids,
                "attention_mask": tokens.attention_mask,
                "token_type_ids": tokens.type_ids,
            }
            inputs = {entry.name: [arrays[entry.name]] for entry in session.get_inputs()}
            vector = session.run([output], inputs)[0][0]
            if pooling:
                vector = vector[0] if pooling == "first" else vector.mean(axis=0)
            numbers: list[float] = vector.tolist()
            return numbers

    embed("This shows whether the parts fit.")
    return embed


def _choose_output(folder: str, session: Any) -> tuple[str, str]:
    """Name of the output that vectors are made of, and its pooling.

    The pooling is `first` or `mean` of the tokens; empty for an output that is the text's own vector.
    """
    names = [output.name for output in session.get_outputs()]
    if _TEXT_OUTPUT in names:
        return _TEXT_OUTPUT, ""
    if name := next((name for name in _TOKEN_OUTPUTS if name in names), ""):
        return name, _read_pooling(folder)
    raise EmbeddingFailed(f"can't use the model in {folder}: its outputs are {', '.join(names)}")


def _read_pooling(folder: str) -> str:
    modules = [module["type"].rpartition(".")[2] for module in _read_json(folder, "modules.json")]
    if modules not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise EmbeddingFailed(f"can't use the model in {folder}: it is made of {', '.join(modules)}")
    config = _read_json(folder, "1_Pooling/config.json")
    flags = [key for key, value in config.items() if key.startswith("pooling_mode_") and value]
    modes = [config["pooling_mode"]] if "pooling_mode" in config else flags
    if len(modes) != 1 or modes[0] not in _POOLING:
        raise EmbeddingFailed(f"can't use the model in {folder}: its pooling is {' and '.join(map(str, modes))}")
    return _POOLING[modes[0]]


def _read_max_tokens(folder: str) -> int:
    for name, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        limit = _read_json(folder, name).get(key) if os.path.isfile(os.path.join(folder, name)) else None
        if isinstance(limit, int) and limit < _NO_LIMIT:
            return limit
    raise EmbeddingFailed(f"finds no max_seq_length in {folder}; add it to sentence_bert_config.json")


def _read_json(folder: str, name: str) -> Any:
    with open(_require(folder, name), encoding="utf-8") as file:
        return json.load(file)


def _require(folder: str, name: str) -> str:
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        raise EmbeddingFailed(f"finds no {name} in {folder}; copy all files of the sentence-transformers model")
    return path


def _require_model_file(folder: str) -> str:
    path = model_path(folder, "")
    if not os.path.isdir(folder):
        raise EmbeddingFailed(f"finds no folder {folder}; copy a sentence-transformers model to it")
    if not os.path.isfile(path):
        export = "optimum-cli export onnx --library transformers --task feature-extraction --model"
        raise EmbeddingFailed(
            f"finds no {' or '.join(_MODEL_FILES)} in {folder}; make one with "
            f"`{export} {quote(folder)} {quote(os.path.dirname(path))}`"
        )
    return path


@contextmanager
def _convert_failures(folder: str) -> Iterator[None]:
    """Raise any failure as `EmbeddingFailed`: neither library raises anything narrower for a damaged model."""
    try:
        yield
    except EmbeddingFailed:
        raise
    except Exception as error:
        reason = " ".join(str(error).rpartition(" : ")[2].split())[:300]
        raise EmbeddingFailed(f"can't use the model in {folder} ({type(error).__name__}: {reason})") from error
