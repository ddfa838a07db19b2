"""Folders on the disk, and the one in memory that stands for them in tests."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import assume, given
from hypothesis import strategies as st

from contextasm.workspace.folder import Folder
from tests.workspaces import Files, write

NAMES = ("a", "b", "a.md", "b.md", ".hidden", "é.md", "2025-03-14.md", "[x].md", "A.md", "a b.md")


trees = st.dictionaries(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join),
    st.sampled_from(
        (b"", b"text", b"\xff", b"\xef\xbb\xbfbom", b"---\ntype: a\n---\nx", b"a\r\nb", "é".encode("utf-16"))
    ),
    max_size=12,
)


PATTERNS = (
    "*",
    "*.md",
    "a/*.md",
    "a/b",
    "a",
    "**/*.md",
    "**/a",
    "a/**/*.md",
    "*/*/*",
    "**",
    "a/**",
    "[ab].md",
    "?.md",
    "**/.hidden",
    ".hidden/*",
    "*/a/*.md",
    "b.md/*",
    "**/**/b",
)


@given(trees)
def test_workspace_in_memory_lists_and_reads_what_a_folder_does(tree: dict[str, bytes]) -> None:
    folders = {path.rpartition("/")[0] for path in tree}
    assume(not any(path == each or each.startswith(f"{path}/") for path in tree for each in folders))
    with TemporaryDirectory() as name:
        write(Path(name), tree)
        disk, memory = Folder(Path(name)), Files(tree)
        for pattern in PATTERNS:
            assert memory.list(pattern) == disk.list(pattern), pattern
        for path in (
            *tree,
            *folders - {""},
            "missing.md",
            "a/missing.md",
            "../a.md",
            "a//b",
            "",
            *(f"{each}/x" for each in tree),
        ):
            assert memory.read(path) == disk.read(path), path
