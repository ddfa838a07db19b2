"""Diff: what entered and left between records, days, budgets and git revisions."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import contextasm
from contextasm.model import Context, Document, Problem, Profile
from contextasm.records.diff import Side, compare_contexts
from contextasm.workspace.folder import Folder
from contextasm.workspace.git.folder import open_revision
from tests.command import LUNA, clean, fill, inside, refused
from tests.workspaces import Content, budgets, build, profiles, workspaces

SCHEMA = json.loads(
    (Path(contextasm.__file__).parent / "rendering" / "schemas" / "diff-1.json").read_text(encoding="utf-8")
)

GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}

KNOWLEDGE = "agents/a/KNOWLEDGE.md"
TODAY = "agents/a/daily/2025-03-14.md"
MEMORIES = "agents/a/memories/list.md"

FILES: Mapping[str, str] = {
    "ctxasm.yaml": "date: 2025-03-14\n",
    KNOWLEDGE: "Known.\n",
    TODAY: "Did this.\n",
    MEMORIES: "- [fact] one {id=m1}\n- [fact] two {id=m2}\n",
}


def git(folder: Path, *words: str) -> None:
    """Run git without anybody's settings."""
    subprocess.run(["git", "-C", folder, *words], env=clean(GIT), check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a strange name, in a subfolder of a repository, committed once."""
    own = tmp_path / "répo" / "my workspace"
    own.mkdir(parents=True)
    fill(own, {**FILES, "agents/a/daily/2025-03-13 – é.md": "Yesterday.\n"})
    (own.parent / "outside.md").write_text("hunter2\n")
    git(own.parent, "init", "-q", "-b", "main")
    git(own.parent, "add", "-A")
    git(own.parent, "commit", "-q", "-m", "one")
    return own


def differ(root: Path, *words: str | Path) -> dict[str, Any]:
    done = inside("diff", "-w", root, *words, "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    Draft202012Validator(SCHEMA).validate(found)
    return found


def rows(root: Path, *words: str | Path) -> list[tuple[str, str]]:
    return [(each["kind"], each["fragment"]) for each in differ(root, *words)["changes"]]


def side(context: Context) -> Side:
    return Side("x", context, {each.path: each.digest for each in context.documents})


@given(files=workspaces(), other=workspaces(), profile=profiles(), budget=budgets)
def test_difference_accounts_for_every_token(
    files: Mapping[str, Content], other: Mapping[str, Content], profile: Profile, budget: int
) -> None:
    one, two = build(files, profile, budget=budget), build(other, profile, budget=budget)
    difference = compare_contexts(side(one), side(two))
    told = sum(each.tokens[1] - each.tokens[0] for each in difference.shifts if each.before or each.after)
    assert told == sum(each.tokens_after for each in two.decisions) - sum(each.tokens_after for each in one.decisions)
    before, after = one.text.encode(), two.text.encode()
    assert difference.identical_bytes == next(
        (n for n, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]),
        min(len(before), len(after)),
    )
    assert bool(difference.shifts) or one.text == two.text or one.sections != two.sections
    assert compare_contexts(side(one), side(one)).shifts == ()


def edit(root: Path, name: str, text: str) -> None:
    (root / name).write_text(text, encoding="utf-8")


def test_settings_and_profile_of_a_revision_are_its_own(root: Path) -> None:
    edit(root, "ctxasm.yaml", "date: 2025-03-14\nprofile: own.yaml\nbudget: 5k\n")
    edit(root, "own.yaml", "extends: default\nlayers:\n  - {id: L7, heading: Old Heading}\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "two")
    edit(root, "ctxasm.yaml", "date: 2025-03-14\nbudget: 6k\n")
    (root / "own.yaml").unlink()
    found = differ(root, "HEAD")
    assert [found[key]["budget"] for key in ("before", "after")] == [5000, 6000]
    assert "-## Old Heading\n" in inside("diff", "-w", root, "HEAD", "--text").out


def test_nothing_is_checked_out_or_written(root: Path) -> None:
    def state() -> dict[str, int]:
        return {str(path): path.lstat().st_mtime_ns for path in root.parent.rglob("*")}

    before = state()
    assert rows(root, "HEAD") == []
    assert state() == before


def test_git_of_a_hook_is_not_mistaken_for_the_workspaces(root: Path, tmp_path: Path) -> None:
    env = {**GIT, "GIT_DIR": str(tmp_path / "nowhere"), "GIT_INDEX_FILE": "x", "PATH": os.environ["PATH"]}
    assert inside("diff", "HEAD", "-w", root, env=env).code == 0


def test_links_of_a_revision_lead_nowhere_outside(root: Path) -> None:
    (root / "agents/a/daily/2025-03-12.md").symlink_to("../../../../outside.md")
    (root / "agents/a/daily/2025-03-11.md").symlink_to("/etc/passwd")
    (root / "agents/a/daily/2025-03-10.md").symlink_to("../KNOWLEDGE.md")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "links")
    with open_revision(str(root), "HEAD", clean(GIT)) as revision:
        for day in (11, 12):
            read = revision.read(f"agents/a/daily/2025-03-{day}.md")
            assert isinstance(read, Problem)
            assert read.code == "outside-workspace"
        read = revision.read("agents/a/daily/2025-03-10.md")
        assert isinstance(read, Document)
        assert read.text == "Known.\n"
        assert revision.read("../outside.md") == Folder(root).read("../outside.md")
    done = inside("diff", "-w", root, "HEAD~1", "HEAD", "--text")
    assert "hunter2" not in done.out
    assert "+### 2025-03-10\n+Known.\n" in done.out


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


@given(tree=trees)
@example(tree={"a": b"text"})
def test_revision_lists_and_reads_what_the_folder_does(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, bytes]
) -> None:
    folders = {path.rpartition("/")[0] for path in tree}
    tree = {path: data for path, data in tree.items() if not any(f"{each}/".startswith(f"{path}/") for each in folders)}
    root = tmp_path_factory.mktemp("tree")
    fill(root, tree, base={})
    git(root, "init", "-q")
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "--allow-empty", "-m", "all")
    disk = Folder(root)
    with open_revision(str(root), "HEAD", clean(GIT)) as revision:
        for pattern in PATTERNS:
            assert revision.list(pattern) == disk.list(pattern), pattern
        for path in (*tree, *folders - {""}, "missing.md", "a/missing.md", "../a.md", "a//b", ""):
            assert revision.read(path) == disk.read(path), path


def test_folder_of_links_lists_as_on_the_disk(root: Path) -> None:
    (root / "agents/b").symlink_to("a")
    (root / "agents/c").symlink_to("../..")
    (root / "loop").symlink_to("loop")
    (root / "gone").symlink_to("nothing")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "links")
    disk = Folder(root)
    with open_revision(str(root), "HEAD", clean(GIT)) as revision:
        for pattern in (
            "agents/*/IDENTITY.md",
            "agents/b/*.md",
            "agents/c/*.md",
            "**/*.md",
            "agents/*",
            "agents/b",
            "*/*.md",
        ):
            assert revision.list(pattern) == disk.list(pattern), pattern
        for path in (
            "agents/b/IDENTITY.md",
            "agents/b",
            "agents/c/outside.md",
            "agents/c",
            "loop",
            "gone",
            "gone/a.md",
        ):
            assert revision.read(path) == disk.read(path), path


def test_budgets_against_each_other() -> None:
    done = inside("diff", *LUNA, "@2k", "@8k", "--json")
    there = json.loads(done.out)
    back = json.loads(inside("diff", *LUNA, "@8k", "@2k", "--json").out)
    mirror = {"entered": "left", "lengthened": "shortened"}
    assert {mirror[each["kind"]] for each in there["changes"]} == {"left", "shortened"}
    assert sorted((mirror[each["kind"]], each["fragment"]) for each in there["changes"]) == sorted(
        (each["kind"], each["fragment"]) for each in back["changes"]
    )
    assert there["identical_bytes"] == back["identical_bytes"] > 0


def recorded(root: Path, *words: str) -> str:
    before = {*root.glob(".ctxasm/records/*")}
    assert inside("build", "-q", "-w", root, "--record", *words).code == 0
    [path] = {*root.glob(".ctxasm/records/*")} - before
    return path.stem


def test_record_against_the_workspace_asks_as_the_record_did(root: Path) -> None:
    fill(root, {"agents/b/IDENTITY.md": "I am b.\n", "agents/b/INSTRUCTIONS.md": "Do.\n"}, base={})
    name = recorded(root, "-a", "b", "-b", "3k", "--layer", "L5=7", "--date", "2025-03-10")
    found = differ(root, name)
    assert found["changes"] == []
    assert found["before"]["etag"] == found["after"]["etag"]
    assert (found["after"]["budget"], found["after"]["date"]) == (3000, "2025-03-10")
    assert differ(root, name, "-b", "2k")["after"]["budget"] == 2000
    edit(root, "agents/b/IDENTITY.md", "I am b, and older.\n")
    assert rows(root, name) == [("changed", "agents/b/IDENTITY.md")]


def test_record_against_a_record_needs_no_workspace(root: Path, tmp_path: Path) -> None:
    names = [recorded(root), recorded(root, "--layer", "L7=0")]
    other = tmp_path / "other"
    (root / ".ctxasm").rename(other)
    paths = [other / "records" / f"{name}.json" for name in names]
    done = inside("diff", *paths, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "left" in done.out
    assert KNOWLEDGE in done.out


def test_no_repository_is_one_line(tmp_path: Path) -> None:
    fill(tmp_path, FILES)
    refused(inside("diff", "-w", tmp_path, "HEAD"), "is not in a git repository")
    refused(inside("diff", "-w", tmp_path, "HEAD", env={"PATH": str(tmp_path)}), "git: can't be run", "install git")
    assert inside("diff", "-w", tmp_path, "@2k", env={"PATH": str(tmp_path)}).code == 0
