"""Equal inputs give an equal context, on random workspaces."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Self
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import Build, Profile, TokenCounter
from contextasm.pipeline import assemble
from contextasm.selection.tokens import ESTIMATE
from contextasm.workspace.folder import Folder
from tests.command import fill
from tests.workspaces import Content, budgets, build, counters, profiles, request, topics, workspaces


@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets, topic=topics, seed=st.integers(0, 99))
def test_equal_inputs_give_an_equal_context(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int, topic: str, seed: int
) -> None:
    shuffled = [*files.items()]
    Random(seed).shuffle(shuffled)
    assert build(files, profile, counter, budget=budget, topic=topic) == build(
        dict(shuffled), profile, counter, budget=budget, topic=topic
    )


@given(files=workspaces(), profile=profiles(), budget=budgets, topic=topics, seed=st.integers(0, 99))
def test_order_in_which_the_disk_lists_files_does_not_matter(
    files: Mapping[str, Content], profile: Profile, budget: int, topic: str, seed: int
) -> None:
    with TemporaryDirectory() as name, shuffled_folders(seed):
        fill(Path(name), files, base={})
        there = assemble(Build(Folder(Path(name)), profile, request(budget=budget, topic=topic), ESTIMATE))
    assert there == build(files, profile, budget=budget, topic=topic)


class Shuffled(list[Any]):
    """Entries of a folder in an order of chance, as `os.scandir` gives them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def shuffled_folders(seed: int) -> AbstractContextManager[object]:
    scandir, random = os.scandir, Random(seed)

    def shuffled(path: str) -> Shuffled:
        with scandir(path) as entries:
            own = Shuffled(sorted(entries, key=lambda entry: entry.name))
        random.shuffle(own)
        return own

    return patch("os.scandir", shuffled)
