"""Laws of text of all planes: halves of characters, controls, turned text, odd line ends, secrets, any front matter."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from contextasm.text.cleaning.clean import clean_text
from contextasm.text.cleaning.secrets.scanner import mask_secrets
from tests.command import fill, inside
from tests.laws.test_monotony import loses_nothing
from tests.laws.test_truncation import cut_to, fragments_of
from tests.text.cleaning.test_secret_masks import SAMPLES
from tests.workspaces import DEFAULT, Content, agent, ago, build, log, team

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

_PIECES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.sampled_from(("\n", "\n\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\x1b[2J", "\u202e")),
    st.sampled_from(("- ", "- [fact] ", "# ", "```\n", "---\n", "<!-- ", "-->", "word " * 30, "{id=a}", "\ufeff")),
    st.sampled_from(SAMPLES).map(lambda sample: "".join(sample[1:])),
)
texts = st.lists(_PIECES, max_size=12).map("".join)
_FRONT = st.text(st.one_of(st.sampled_from("ab:-# \n\t[]{}'\"&*!|>%@`,?"), st.characters(exclude_categories=["Cs"])))
documents = st.one_of(texts, st.builds("---\n{}\n---\n{}".format, _FRONT, texts))
"""Texts, some below front matter that may be any YAML or none."""


@given(st.text(st.characters(), max_size=60), texts)
def test_cleaned_twice_is_cleaned_once(letters: str, text: str) -> None:
    """P20, P27: of arguments, too, where a byte that is no text is half of a character."""
    for each in (letters + text, text + letters):
        clean = clean_text(each).text
        assert clean_text(clean).text == clean
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", clean)


@given(texts, st.sampled_from(("start", "end")), st.sampled_from(("plain", "detailed")), st.integers(0, 1_500))
def test_no_secret_emerges_by_a_cut(text: str, keep: str, marker: str, room: int) -> None:
    """P27: a text is masked before it is cut, and the cut text has nothing left to mask."""
    masked = clean_text(text).text.strip()
    if masked:
        _, cut = cut_to(fragments_of([masked], keep), room, marker)
        assert mask_secrets(cut).text == cut


@given(
    files=st.fixed_dictionaries(dict.fromkeys(("KNOWLEDGE", "CONTEXT", "log", "memory", "identity"), documents)),
    budget=st.integers(0, 20_000),
    more=st.integers(1, 4_000),
)
def test_any_text_is_built_within_the_budget(files: Mapping[str, str], budget: int, more: int) -> None:
    """P16, P20, P25, P27: UTF-8, no control character, counted, nothing left to mask; more budget loses nothing."""
    workspace: dict[str, Content] = {
        **agent(identity=f"You are Luna. {files['identity']}", KNOWLEDGE=files["KNOWLEDGE"]),
        **team(CONTEXT=files["CONTEXT"]),
        **log(ago(0), files["log"]),
        "agents/luna/memories/m.md": files["memory"],
    }
    small, large = (build(workspace, budget=size) for size in (budget, budget + more))
    required = DEFAULT._replace(layers=tuple(layer for layer in DEFAULT.layers if layer.limits.required))
    for context, size in ((small, budget), (large, budget + more)):
        assert not CONTROL.search(context.text)
        assert context.tokens <= max(size, build(workspace, required, budget=10**9).tokens)
        assert mask_secrets(context.text).text == context.text
    loses_nothing(small, large)


_NAMES = st.sampled_from(
    ("KNOWLEDGE.md", "daily/2025-03-14.md", "daily/2025-03-13.md", "memories/m.md", "memories/n.md")
)
_KINDS = st.sampled_from(("file", "folder", "pipe", "link out", "link in", "loop", "gone", "bytes"))


@given(st.dictionaries(_NAMES, st.tuples(_KINDS, documents), max_size=5))
def test_any_tree_is_built(tree: Mapping[str, tuple[str, str]]) -> None:
    """P12, P13, P24: links, pipes and folders in place of files cost themselves, and nothing outside is read."""
    with TemporaryDirectory() as folder:
        root = fill(Path(folder) / "w", {})
        (Path(folder) / "out.md").write_text("OUTSIDE")
        for name, (kind, text) in tree.items():
            _make(root / "agents/a" / name, kind, text)
        done = inside("build", "--date", "2025-03-14", cwd=root)
    assert done.code == 0, done.err
    assert "OUTSIDE" not in done.out + done.err
    for name, (kind, _) in tree.items():
        assert (f"agents/a/{name}: " in done.err) >= (kind in {"folder", "pipe", "link out", "loop"})


def _make(path: Path, kind: str, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    if kind in {"file", "bytes"}:
        path.write_bytes(text.encode() + b"\xff" * (kind == "bytes"))
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind != "gone":
        path.symlink_to(path if kind == "loop" else _target(path, kind))


def _target(path: Path, kind: str) -> Path:
    root = next(parent for parent in path.parents if parent.name == "w")
    return root.parent / "out.md" if kind == "link out" else root / "agents/a/IDENTITY.md"
