"""Patterns of paths: no pattern takes longer than the tree or the text is large (P18)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.text.names.glob import glob_matches, list_matching, matching_paths, plain_pattern, wildcard_matches
from tests.workspaces import Files

LONG = "a" * (1 << 16)


class DeepTree:
    """A tree of folders `a`, one in the other, that counts how often it is asked."""

    asked = 0

    def entries(self, folder: str) -> Iterator[DeepEntry]:
        """A folder in each folder but the last, and a file."""
        self.asked += 1
        if folder.count("a") < 60:
            yield DeepEntry("a", folder=True)
        yield DeepEntry("f.md", folder=False)

    def exists(self, path: str) -> bool:
        """Whether it is one of them."""
        return set(path.split("/")) <= {"a", "f.md"}

    def holds(self, folder: str) -> bool:
        """Always."""
        return not folder.startswith("/")


class DeepEntry:
    """An entry of such a tree."""

    def __init__(self, name: str, *, folder: bool) -> None:
        self.name = name
        self._folder = folder

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder."""
        return self._folder and follow_symlinks in {True, False}


@pytest.mark.parametrize("pattern", ["**/" * 12 + "*.md", "**/a/" * 12 + "*.md", "**/*/" * 12 + "f.md"])
def test_p18_many_stars_ask_each_folder_once_for_each_part(pattern: str) -> None:
    """P18: there are billions of ways to the last folder."""
    tree = DeepTree()
    assert len(list_matching(tree, pattern)) >= 49
    assert tree.asked <= 61 * len(pattern.split("/"))


@pytest.mark.parametrize("pattern", ["**/*.md", "*/" * 3000 + "x.md", "**/" * 4000 + "x.md", "d/" * 3000 + "x.md"])
def test_p14_tree_or_pattern_deeper_than_the_stack_is_searched(pattern: str) -> None:
    """P14: as deep as paths can be; each step of a recursion would take a part of Python's stack."""
    path = "d/" * 3000 + "x.md"
    assert matching_paths([path], pattern) == [path]


@pytest.mark.parametrize("pattern", ["*a*a*a*a*b", "*a" * 30 + "*b", "a" + "*" * 30 + "b"])
def test_p18_stars_end_on_a_long_text(pattern: str) -> None:
    """P18: the test hangs where they do not."""
    assert not wildcard_matches(pattern, LONG)
    assert not glob_matches(pattern, LONG)
    assert glob_matches(pattern, f"{LONG}b")


NAMES = st.sampled_from(["a", "b", "a.md", "b.md", ".a.md", "*", "**", "a*", "*.md", "?.md", "[ab]"])
FILES = st.sets(st.lists(NAMES.filter(lambda name: not set(name) & set("*?[")), min_size=1, max_size=3).map(tuple))


@given(st.text("[]ab*?!", min_size=1, max_size=5), st.text("[]ab*?!", min_size=1, max_size=5))
def test_plain_pattern_fits_its_path_only(path: str, other: str) -> None:
    assert wildcard_matches(plain_pattern(path), path)
    assert wildcard_matches(plain_pattern(path), other) == (path == other)


def test_name_with_brackets_that_exists_means_itself() -> None:
    paths = ["app/[id]/a.md", "app/i/a.md", "app/i/b[1].md"]
    assert matching_paths(paths, "app/[id]/*.md") == ["app/[id]/a.md"]
    assert matching_paths(paths, "app/*/b[1].md") == ["app/i/b[1].md"]
    assert matching_paths(paths, "app/[ij]/*.md") == ["app/i/a.md", "app/i/b[1].md"]


@given(FILES, st.lists(NAMES, min_size=1, max_size=3).map("/".join))
def test_paths_match_as_in_a_folder(files: set[tuple[str, ...]], pattern: str) -> None:
    # No file is a folder, too.
    paths = {"/".join(names) for names in files if not any(names[:end] in files for end in range(1, len(names)))}
    listed = [path for path in Files(dict.fromkeys(paths, "")).list(pattern) if path in paths]
    found = [path for path in matching_paths(paths, pattern) if path in paths]
    assert found == listed
