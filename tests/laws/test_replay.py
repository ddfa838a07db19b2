"""What is written again, or given again in one process, is what a new build would give: whatever has changed before."""

import os
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

import contextasm
from contextasm.cli.app import run
from contextasm.cli.stored_output import run_or_replay
from contextasm.model import ContextasmError
from tests.command import clean, fill, inside

REPLAYED = partial(run_or_replay, run=run)

FILES = {
    "ctxasm.yaml": ("", "date: 2025-03-14\n", "tz: Pacific/Kiritimati\nbudget: 300\n", "profile: own.yaml\n", "x: 1\n"),
    "own.yaml": ("extends: default\nbudget: 200\n", "extends: repo\n", "budget: no\n"),
    "rules/r.yaml": (
        "rules:\n  - name: r\n    exclude: ['type:fact']\n",
        "rules:\n  - name: r\n    when: {env.HOME: /}\n    exclude: ['type:fact']\n",
    ),
    "agents/a/memories/m.md": (
        "- [fact] The door is red\n- [note] It rains {cites=docs/x.md:2-2@180b180b4ce5}\n",
        "- [fact] The door is blu\n- [note] It rains\n",
    ),
    "agents/a/memories/n.md": ("- The sea is green {created=2025-03-10}\n", "\xff"),
    "agents/a/daily/2025-03-14.md": ("### Now\nWe sail.\n", "### Now\nWe stay.\n"),
    "agents/a/daily/2025-03-01.md": ("### Then\nWe slept.\n",),
    "docs/x.md": ("# X\nSee @y.md\n", "# X\nNo more.\n"),
    "docs/y.md": ("Y\n", "Z\n"),
    "AGENTS.md": ("Be brief. @docs/x.md\n", "Be clear. @docs/y.md\n"),
    "CLAUDE.md": ("@AGENTS.md\n", "Be kind.\n"),
    "../AGENTS.md": ("Above.\n",),
    "../ctxasm.yaml": ("date: 2025-03-14\n",),
    "../.git/HEAD": ("ref: refs/heads/main\n",),
    "agents/a/IDENTITY.md": ("I am a.\n", "I am b.\n"),
    "agents/a/INSTRUCTIONS.md": ("Do it.\n", "Undo it.\n"),
}
PATHS = [*FILES, "docs", "agents/a/memories", "agents/b", "agents"]

paths = st.sampled_from(PATHS)
files = st.sampled_from([(path, text) for path, texts in FILES.items() for text in texts])
edits = st.one_of(
    st.tuples(st.just("write"), files),
    st.tuples(st.just("write"), files),
    st.tuples(st.just("write silently"), files),
    st.tuples(st.just("rename"), st.tuples(paths, paths)),
    st.tuples(st.just("link"), st.tuples(paths, paths)),
    st.tuples(st.just("remove"), st.tuples(paths, paths)),
    st.tuples(st.just("fold"), st.tuples(paths, paths)),
    st.tuples(st.just("touch"), st.tuples(paths, paths)),
)
EVENT = '{"hook_event_name": "%s", "prompt": "the color of the door"}'
lines = st.sampled_from(
    [
        (("build", "-w", "W", "-a", "a"), ""),
        (("build", "-w", "W", "--topic", "red door", "-f", "json"), ""),
        (("build", "--explain"), ""),
        (("build", "-p", "repo"), ""),
        (("build", "--open", "docs/x.md", "--exclude", "docs"), ""),
        (("hook", "--for", "claude-code"), EVENT % "SessionStart"),
        (("hook",), EVENT % "UserPromptSubmit"),
    ]
)
variables = st.sampled_from(
    [{}, {}, {"CTXASM_BUDGET": "90"}, {"SOURCE_DATE_EPOCH": "1741910400"}, {"CTXASM_LOCKED": "1"}]
)


def edit(root: Path, kind: str, one: str, other: str) -> None:
    """One edit of a person's or a program's; one that can't be made is none."""
    path = root / one
    with suppress(OSError):
        if kind.startswith("write"):
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.stat() if kind == "write silently" else None
            path.write_text(other, encoding="latin-1")
            if before:
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif kind == "rename":
            path.rename(root / other)
        elif kind == "link":
            (root / other).symlink_to(path)
        elif kind == "remove":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        elif kind == "fold":
            path.mkdir(parents=True)
        else:
            path.touch()


@given(
    st.lists(files, max_size=8),
    st.lists(st.tuples(lines, variables), min_size=1, max_size=2),
    st.lists(edits, min_size=1, max_size=4),
    st.sampled_from(["", "docs"]),
)
def test_replayed_output_is_that_of_a_new_build(
    first: list[Any], requests: list[Any], changes: list[Any], below: str
) -> None:
    with TemporaryDirectory() as folder:
        root = fill(Path(folder, "p", "w"), dict(reversed(first)) | {"docs/x.md": "X"})
        env = {"CTXASM_NO_REPLAY": "0", "XDG_CACHE_HOME": f"{folder}/cache", "HOME": folder}
        for kind, (one, other) in [("touch", ("docs/x.md", "")), *changes]:
            edit(root, kind, one, other)
            cwd = root / below if (root / below).is_dir() else root
            for (line, event), more in requests:
                words = [str(root) if word == "W" else word for word in line]
                fresh = inside(*words, cwd=cwd, env=env | more | {"CTXASM_NO_REPLAY": "1"}, stdin=event or None)
                again = inside(
                    *words, cwd=cwd, env=env | more, stdin=event or None, run=partial(run_or_replay, run=run)
                )
                assert again == fresh


def context(root: Path, env: dict[str, str], topic: str) -> object:
    with patch.dict(os.environ, clean(env), clear=True):
        try:
            return contextasm.build(workspace=root, topic=topic)
        except ContextasmError as error:
            return str(error)


@given(
    st.lists(files, max_size=8),
    st.lists(st.tuples(variables, st.sampled_from(["", "red door"])), min_size=1, max_size=2),
    st.lists(edits, min_size=1, max_size=4),
)
def test_context_of_an_equal_request_is_that_of_a_new_build(
    first: list[Any], requests: list[Any], changes: list[Any]
) -> None:
    with TemporaryDirectory() as folder:
        root = fill(Path(folder, "p", "w"), dict(reversed(first)))
        for kind, (one, other) in [("touch", ("docs/x.md", "")), *changes]:
            edit(root, kind, one, other)
            for env, topic in requests:
                fresh = context(root, env, topic)
                assert context(root, {**env, "CTXASM_NO_REPLAY": "0"}, topic) == fresh
