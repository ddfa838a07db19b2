"""What holds of `ctxasm check` on random workspaces, however broken."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from contextasm.checks.finding import Finding, baseline_text, split_accepted
from contextasm.checks.formats import FORMATS
from contextasm.checks.inspection import Inspection
from contextasm.checks.registry import run_checks
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.model import Problem
from tests.command import fill, inside
from tests.workspaces import DAY, Content, workspaces

NOW = datetime(DAY.year, DAY.month, DAY.day, 12, tzinfo=UTC).timestamp()

ODDITIES = st.text(
    st.sampled_from("[](#)%00`.md/\\-: \n\u202e\u200b\U000e0041\x00{}=ax\u65e5---"), min_size=1, max_size=40
)
"""Bits of links, headings, attributes and hidden characters."""

CONFIG = st.sampled_from(
    [
        "",
        "budget: 300\n",
        "budget: 0\n",
        "profile: openclaw\n",
        "agent: [\n",
        "layers:\n  - id: L7\n    share: 1.5\n",
        "outputs:\n  - file: agents/luna/IDENTITY.md\n    agent: luna\n  - {file: x, format: json}\n",
        "outputs: 3\nteam: 3\n",
    ]
)


def check(files: Mapping[str, Content]) -> list[Finding]:
    with TemporaryDirectory() as folder:
        plain = {path: content for path, content in files.items() if not isinstance(content, Problem)}
        root = fill(Path(folder), plain, base={})
        return run_checks(Inspection(Options(workspace=str(root)), ProcessEnvironment({}, str(root), lambda: NOW)))


@given(workspaces(), CONFIG, ODDITIES, ODDITIES)
def test_check_always_comes_to_an_end_and_to_the_same(
    files: dict[str, Content], config: str, odd: str, odder: str
) -> None:
    files |= {"ctxasm.yaml": config, "agents/luna/odd.md": odd, "agents/luna/memories/odd.md": f"- [{odder}] {odd}"}
    found = check(files)
    assert found == check(dict(reversed(files.items())))
    assert [each for each in found if not (each.id and each.message and each.hint)] == []
    assert all(isinstance(write(found, "1"), str) for write in FORMATS.values())
    assert split_accepted(baseline_text(found), found)[0] == ()


HOSTILE = st.sampled_from(("good", "pipe", "latin", "folder", "leads out", "device", "hidden", "missing", "circle"))
IMPORTED = ("a.md", "docs/b.md", "c.png", "nested/d", "e.txt")


def _make_hostile(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind in {"leads out", "device"}:
        path.symlink_to("/etc/hostname" if kind == "leads out" else "/dev/zero")
    elif kind != "missing":
        contents = {
            "latin": b"caf\xe9",
            "hidden": "a\U000e0041\U000e0042b".encode(),
            "circle": b"@" + path.name.encode(),
        }
        path.write_bytes(contents.get(kind, b"Text.\n"))


@given(st.tuples(*(HOSTILE for _ in IMPORTED)), st.sampled_from(("CLAUDE.md", "AGENTS.md")))
def test_check_tells_every_problem_of_a_build(kinds: tuple[str, ...], name: str) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for path, kind in zip(IMPORTED, kinds, strict=True):
            _make_hostile(root / path, kind)
        (root / name).write_text("".join(f"@{path}\n" for path in IMPORTED), encoding="utf-8")
        problems = json.loads(inside("build", "-q", "-f", "json", "-w", root).out)["problems"]
        found = json.loads(inside("check", "-f", "json", "-w", root).out)["findings"]
    told = {(each["path"], each["line"]) for each in found} | {(each["path"], 0) for each in found}
    assert [each for each in problems if (each["path"], each["line"]) not in told] == []
