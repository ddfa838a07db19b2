"""A build says the same with a stored index of memories, while it makes one, and if nothing may be stored."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import fill, inside
from tests.laws.test_memory_days import PATHS, TOPICS, page
from tests.retrieval.memory_index.test_memory_index import pools_above
from tests.workspaces import DAY

BAD_NAMES = ("agents/a/memories/zero\u200bwidth.md", "agents/a/memories/two\nlines.md")
SETTINGS = ("", "profile: profiles/p.yaml\n", "profile: recall\n")
LINES = ("Ana: a lantern", "Ana: soup", "Ben lit a lantern", "Ben asked Ana", "# Lanterns", "a long soup " * 9)
LOG = "agents/a/daily/2024-05-06.md"
PROFILE = "extends: default\nmin_coherence: 0.9\n"


@pytest.fixture(autouse=True)
def _every_pool_is_large() -> Iterator[None]:
    with pools_above(0):
        yield


@given(
    pages=st.lists(page(), min_size=2, max_size=4),
    odd=st.lists(st.sampled_from(BAD_NAMES), unique=True),
    lines=st.lists(st.sampled_from(LINES), max_size=12),
    topic=st.sampled_from(["", "Ana's lantern", "what did Ben light", *TOPICS]),
    own=st.sampled_from(SETTINGS),
    words=st.sampled_from([(), (), ("--strict",), ("--audience", "shared"), ("--privacy", "off")]),
)
def test_the_json_of_a_build_does_not_depend_on_the_index(
    pages: Sequence[str], odd: Sequence[str], lines: Sequence[str], topic: str, own: str, words: Sequence[str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        files = {**dict(zip(PATHS, pages, strict=False)), **dict.fromkeys(odd, "- [fact] a lantern\n")}
        files[LOG] = "\n\n".join(lines)
        folder = fill(Path(name, "w"), {**files, "ctxasm.yaml": own, "profiles/p.yaml": PROFILE})
        env = {"XDG_CACHE_HOME": f"{name}/cache"}
        line: tuple[str | Path, ...] = (
            "build",
            "-w",
            folder,
            "-a",
            "a",
            "--topic",
            topic,
            "--date",
            str(DAY),
            "-f",
            "json",
            *words,
        )
        bare = inside(*line, env={**env, "CTXASM_NO_CACHE": "1"})
        assert bare == inside(*line, env=env) == inside(*line, env=env)
        assert words[:1] in {("--audience",), ("--privacy",)} or [*Path(name).rglob("*.sqlite")], "nothing was stored"
        if not bare.code:
            problems = [problem["code"] for problem in json.loads(bare.out)["problems"]]
            assert problems.count("bad-name") == len(odd)
