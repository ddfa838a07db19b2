"""A model in a folder as an embedder: a tiny one of our own making, which knows a few words of three meanings."""

import json
import os
import shutil
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from contextasm.model import EmbedderConfig, Problem
from contextasm.retrieval.embeddings.embedder import EmbeddingSimilarity
from contextasm.workspace.cache import DiskCache
from contextasm.workspace.processes import run_program
from tests.command import Result, ctxasm, fill, inside, python
from tests.retrieval.embeddings.test_embeddings import CONCEPTS, FALLBACK, PIZZA, build, found, workspace

onnx = pytest.importorskip("onnx", reason="the test dependency onnx is not installed")
if not (find_spec("onnxruntime") and find_spec("tokenizers")):
    pytest.skip("the extra `semantic` is not installed", allow_module_level=True)

WORDS = ("[UNK]", *(word for axis in CONCEPTS for word in axis))
"""The tokens; any other word is the first one, whose vector is zero."""

MODULES = [{"type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling", "Normalize")]

SETTINGS: dict[str, Any] = {
    "modules.json": MODULES,
    "1_Pooling/config.json": {"embedding_dimension": 3, "pooling_mode": "mean"},
    "sentence_bert_config.json": {"max_seq_length": 8},
    "tokenizer.json": {
        "version": "1.0",
        "truncation": None,
        "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None}
        | {"pad_id": 0, "pad_type_id": 0, "pad_token": "[UNK]"},
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: at for at, word in enumerate(WORDS)}, "unk_token": "[UNK]"},
    },
}
"""The files beside the weights, as sentence-transformers writes them today; padding is there to be turned off."""

POOLING = "1_Pooling/config.json"
LENGTH = "sentence_bert_config.json"
TOKENS = "tokenizer.json"

Changes = Mapping[str, Any]
NONE: Changes = {}

OLD_POOLING = {"word_embedding_dimension": 3, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}


def table() -> Any:
    """The vectors of the words, each an axis."""
    rows = array("f", (word in axis for word in WORDS for axis in CONCEPTS))
    shape = [len(WORDS), len(CONCEPTS)]
    return onnx.helper.make_tensor("table", onnx.TensorProto.FLOAT, shape, rows.tobytes(), raw=True)


def graph(weights: Any, *, output: str = "last_hidden_state") -> bytes:
    """A model that looks up the tokens' vectors, and for the output `sentence_embedding` takes their mean."""
    shape = ["batch", "length"]
    nodes = [onnx.helper.make_node("Gather", ["table", "input_ids"], ["vectors"])]
    if output == "sentence_embedding":
        nodes.append(onnx.helper.make_node("ReduceMean", ["vectors"], [output], axes=[1], keepdims=0))
    else:
        nodes.append(onnx.helper.make_node("Identity", ["vectors"], [output]))
    inputs = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, shape)
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [onnx.helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, None)]
    kind = "sparse_initializer" if isinstance(weights, onnx.SparseTensorProto) else "initializer"
    return serialized(onnx.helper.make_graph(nodes, "tiny", inputs, outputs, **{kind: [weights]}))


def serialized(contents: Any, *domains: str) -> bytes:
    """A model's file."""
    operators = [onnx.helper.make_opsetid("", 17), *(onnx.helper.make_opsetid(name, 1) for name in domains)]
    data: bytes = onnx.helper.make_model(contents, opset_imports=operators, ir_version=8).SerializeToString()
    return data


def external(location: str) -> Any:
    """Vectors of the words that lie in another file."""
    weights = table()
    onnx.external_data_helper.set_external_data(weights, location)
    weights.ClearField("raw_data")
    return weights


def sparse(values: Any) -> Any:
    """The same vectors in the form for tensors that are zero almost everywhere."""
    count = len(WORDS) * len(CONCEPTS)
    values.ClearField("dims")
    values.dims.append(count)
    places = onnx.helper.make_tensor("places", onnx.TensorProto.INT64, [count], range(count))
    return onnx.helper.make_sparse_tensor(values, places, [len(WORDS), len(CONCEPTS)])


def vectors_file() -> bytes:
    """The vectors of the words as such a file holds them."""
    data: bytes = table().raw_data
    return data


def model(folder: Path, changes: Changes = NONE, *, file: str = "onnx/model.onnx", data: bytes | None = None) -> Path:
    """A folder with a model; `changes` replaces files beside it by their paths, None leaves one out."""
    texts = {path: json.dumps(value) for path, value in {**SETTINGS, **changes}.items() if value is not None}
    return fill(folder, {**texts, file: graph(table()) if data is None else data}, base={})


def build_with(root: Path, folder: Path | str = "model", topic: str = "dinner", **env: str) -> Result:
    """A build of a new workspace in `root` whose embedder is a model's folder."""
    return build(workspace(root, {"folder": str(folder), "timeout": 60}), topic, **env)


def similarity(folder: Path, topic: str, *texts: str) -> list[float]:
    """The cosines of texts to a topic."""
    embedder = EmbedderConfig("folder", 1, folder=str(folder), timeout=60, near=0.0)
    opinion = EmbeddingSimilarity(embedder, "/", {}, partial(DiskCache, None, "vectors"), run_program)
    cosines = opinion(topic, texts)
    assert not isinstance(cosines, Problem), cosines.message
    return list(cosines)


def test_a_model_in_the_workspace_finds_a_memory_by_its_meaning(tmp_path: Path) -> None:
    model(tmp_path / "w/model")
    result = build_with(tmp_path)
    assert found(result) == [PIZZA]
    assert "warning" not in result.err


@pytest.mark.parametrize(
    ("file", "output", "changes"),
    [
        ("model.onnx", "last_hidden_state", {}),
        ("onnx/model.onnx", "token_embeddings", {POOLING: OLD_POOLING}),
        ("onnx/model.onnx", "sentence_embedding", {POOLING: None, "modules.json": None}),
        ("onnx/model.onnx", "last_hidden_state", {"modules.json": MODULES[:2]}),
    ],
    ids=["export", "old names", "pooled by the model", "not normalized"],
)
def test_folders_as_different_tools_write_them(tmp_path: Path, file: str, output: str, changes: Changes) -> None:
    folder = model(tmp_path / "model", changes, file=file, data=graph(table(), output=output))
    assert similarity(folder, "dinner", "pizza pizza", "sail", "pizza sail") == pytest.approx([1, 0, 0.5**0.5])


@pytest.mark.parametrize(
    "pooling",
    [{"pooling_mode": "cls"}, {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}],
    ids=["new names", "old names"],
)
def test_a_model_may_take_the_first_token(tmp_path: Path, pooling: Changes) -> None:
    folder = model(tmp_path / "model", {POOLING: pooling})
    assert similarity(folder, "dinner", "pizza sail sail", "sail pizza") == [1, 0]


@pytest.mark.parametrize(
    "changes",
    [
        {LENGTH: {"max_seq_length": 2}, "tokenizer_config.json": {"model_max_length": 4}},
        {LENGTH: {"max_seq_length": None}, "tokenizer_config.json": {"model_max_length": 2}},
        {LENGTH: None, "tokenizer_config.json": {"model_max_length": 2}},
    ],
    ids=["own file", "file of the tokenizer", "file of the tokenizer alone"],
)
def test_long_texts_are_cut_to_the_limit_of_the_model(tmp_path: Path, changes: Changes) -> None:
    folder = model(tmp_path / "model", changes)
    assert similarity(folder, "dinner", "pizza pizza sail sail") == [1]


def test_vectors_of_another_model_are_made_anew(tmp_path: Path) -> None:
    model(tmp_path / "w/model")
    assert found(build_with(tmp_path)) == [PIZZA]
    zeros = onnx.helper.make_tensor("table", onnx.TensorProto.FLOAT, [len(WORDS), 3], [0.0] * 3 * len(WORDS))
    model(tmp_path / "w/model", data=graph(zeros, output="token_embeddings"))
    assert found(build_with(tmp_path))[0] == FALLBACK


def test_the_model_of_a_workspace_that_is_not_named_is_not_opened(tmp_path: Path) -> None:
    root = workspace(tmp_path, {"folder": "model"})
    model(root / "model", data=b"damaged")
    result = inside("build", "-w", root, "--topic", "dinner")
    assert "the embedder is not used; " in result.err
    assert f"to trust this workspace, set CTXASM_TRUST={root} [" in result.err
    assert "damaged" not in result.err


UNUSABLE: Mapping[str, tuple[Changes, Sequence[str]]] = {
    "no tokenizer": ({TOKENS: None}, ["finds no tokenizer.json in ", "copy all files"]),
    "no modules": ({"modules.json": None}, ["finds no modules.json in ", "copy all files"]),
    "no pooling": ({POOLING: None}, ["finds no 1_Pooling/config.json in ", "copy all files"]),
    "no limit": ({LENGTH: None}, ["finds no max_seq_length in ", "sentence_bert_config.json"]),
    "endless limit": ({LENGTH: {"max_seq_length": 10**30}}, ["finds no max_seq_length in "]),
    "limit below 0": ({LENGTH: {"max_seq_length": -1}}, ["can't use the model in "]),
    "another module": (
        {"modules.json": [*MODULES[:2], {"type": "sentence_transformers.models.Dense"}]},
        ["can't use the model in ", "it is made of Transformer, Pooling, Dense"],
    ),
    "another pooling": ({POOLING: {"pooling_mode_max_tokens": True}}, ["its pooling is pooling_mode_max_tokens"]),
    "two poolings": ({POOLING: {**OLD_POOLING, "pooling_mode_cls_token": True}}, ["its pooling is "]),
    "two new poolings": ({POOLING: {"pooling_mode": ["mean", "max"]}}, ["can't use the model in "]),
    "damaged settings": ({"modules.json": 7}, ["can't use the model in ", "TypeError"]),
    "damaged tokenizer": ({TOKENS: {}}, ["can't use the model in "]),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_model_that_can_not_be_used_is_a_problem(tmp_path: Path, case: str) -> None:
    changes, parts = UNUSABLE[case]
    model(tmp_path / "w/model", changes)
    refuses(tmp_path, *parts)


@pytest.mark.parametrize("data", [b"", b"none of ours"], ids=["empty", "foreign"])
def test_a_damaged_model_is_a_problem(tmp_path: Path, data: bytes) -> None:
    model(tmp_path / "w/model", data=data)
    refuses(tmp_path, "can't use the model in ", "model.onnx")


def refuses(root: Path, *parts: str) -> None:
    """Assert that the embedder of a workspace in `root` gives no vectors, and that everything else goes on."""
    result = build_with(root, topic="harbor")
    assert result.out == build(workspace(root / "plain", None), "harbor").out
    (line,) = (line for line in result.err.split("\n") if "[embedder]" in line)
    assert "warning: ctxasm.yaml:2: the embedder " in line
    assert "; memories are ranked only by their words" in line
    assert [part for part in parts if part not in line] == [], line


def test_without_an_onnx_file_the_message_says_how_to_make_one(tmp_path: Path) -> None:
    folder = model(tmp_path / "w/my model")
    (folder / "onnx/model.onnx").rename(folder / "model.safetensors")
    result = build_with(tmp_path, "my model")
    assert f"finds no onnx/model.onnx or model.onnx in {folder}; make one with `optimum-cli export onnx " in result.err
    assert f"--model '{folder}' '{folder}/onnx'`" in result.err


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    refuses(tmp_path, f"finds no folder {tmp_path}/w/model")


def test_a_model_with_other_outputs_is_refused(tmp_path: Path) -> None:
    model(tmp_path / "w/model", data=graph(table(), output="logits"))
    refuses(tmp_path, "its outputs are logits")


def test_a_tokenizer_of_another_model_is_no_crash(tmp_path: Path) -> None:
    tokens = {**SETTINGS[TOKENS]["model"], "vocab": {**SETTINGS[TOKENS]["model"]["vocab"], "nine": 99}}
    model(tmp_path / "w/model", {TOKENS: {**SETTINGS[TOKENS], "model": tokens}})
    refuses(tmp_path, "can't use the model in ", "out of data bounds")


def test_an_operator_of_a_foreign_library_is_refused(tmp_path: Path) -> None:
    node = onnx.helper.make_node("Run", ["input_ids"], ["last_hidden_state"], domain="foreign")
    ends = [
        onnx.helper.make_tensor_value_info(name, kind, None)
        for name, kind in (("input_ids", onnx.TensorProto.INT64), ("last_hidden_state", onnx.TensorProto.FLOAT))
    ]
    model(tmp_path / "w/model", data=serialized(onnx.helper.make_graph([node], "g", ends[:1], ends[1:]), "foreign"))
    (tmp_path / "w/model/onnx/foreign.so").write_bytes(b"never opened")
    refuses(tmp_path, "can't use the model in ", "not a registered function/op")


def linked(folder: Path) -> str:
    """A link in the folder that leads out of it."""
    (folder / "inside.bin").symlink_to("../../vectors.bin")
    return "inside.bin"


@pytest.mark.parametrize(
    "place",
    [lambda _: "../../vectors.bin", lambda folder: str(folder.parent.parent / "vectors.bin"), linked],
    ids=["relative", "absolute", "link"],
)
def test_weights_outside_of_the_folder_are_not_read(tmp_path: Path, place: Callable[[Path], str]) -> None:
    folder = model(tmp_path / "w/model")
    (tmp_path / "w/vectors.bin").write_bytes(vectors_file())
    weights = external(place(folder / "onnx"))
    for form in (weights, sparse(weights)):
        (folder / "onnx/model.onnx").write_bytes(graph(form))
        refuses(tmp_path, "can't use the model in ", "xternal data ")


def test_weights_beside_the_model_are_read(tmp_path: Path) -> None:
    folder = model(tmp_path / "model", data=graph(external("model.onnx_data")))
    (folder / "onnx/model.onnx_data").write_bytes(vectors_file())
    assert similarity(folder, "dinner", "pizza", "sail") == [1, 0]


def test_a_folder_of_links_as_a_download_leaves_it(tmp_path: Path) -> None:
    folder = model(tmp_path / "snapshots/1", data=graph(external("model.onnx_data")))
    (folder / "onnx/model.onnx_data").write_bytes(vectors_file())
    (tmp_path / "blobs").mkdir()
    for number, file in enumerate(path for path in sorted(folder.rglob("*")) if path.is_file()):
        shutil.move(file, tmp_path / f"blobs/{number}")
        file.symlink_to(os.path.relpath(tmp_path / f"blobs/{number}", file.parent))
    assert similarity(folder, "dinner", "pizza", "sail") == [1, 0]


def test_nothing_is_written_but_the_vectors(tmp_path: Path) -> None:
    model(tmp_path / "model")
    root = workspace(tmp_path, {"folder": str(tmp_path / "model"), "timeout": 60})
    before = files(tmp_path)
    places = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    result = ctxasm("build", "-w", root, "--topic", "dinner", env={"CTXASM_TRUST": str(root), **places})
    assert found(result) == [PIZZA]
    assert files(tmp_path) - before == {"cache/ctxasm/vectors.cache"}


def files(folder: Path) -> set[str]:
    """All files below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("library", ["onnxruntime", "tokenizers"])
def test_without_the_extra_the_message_says_what_to_install(tmp_path: Path, library: str) -> None:
    root = workspace(tmp_path, {"folder": "model"})
    absent = f"import sys; sys.modules[{library!r}] = None"
    script = f"{absent}; from contextasm.cli.app import run; sys.exit(run(sys.argv[1:]))"
    result = python(script, "build", "-w", root, "--topic", "harbor", env={"CTXASM_TRUST": str(root)})
    assert result.code == 0
    assert "The harbor closes at nine" in result.out
    assert "needs the libraries of `pip install 'contextasm[semantic]'`" in result.err
