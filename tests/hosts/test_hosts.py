"""The real hosts: the lines that they send to a model are those that `explain --host` says, and our answers arrive.

Only `-m hosts` runs this, as `just hosts` does: it installs the hosts from npm and PyPI. A host that can't be had is
skipped; one that is there and sends nothing has failed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from contextasm.config.hosts.loader import load_host
from tests.command import ROOT, inside
from tests.hosts.installed import HOSTS, Session, install, new_session
from tests.hosts.layouts import LAYOUTS, MAIN, Layout, numbered

pytestmark = pytest.mark.hosts

LETTERS = {"claude-code": "c", "codex": "x", "gemini": "g", "openclaw": "o", "hermes": "h"}
CASES = [(host, layout) for host, letter in LETTERS.items() for layout in LAYOUTS if letter in layout.hosts]


@pytest.fixture
def session(host: str, tmp_path: Path, record_property: Callable[[str, object], None]) -> Session:
    """A new session of a host, whose version the report names."""
    path, version = install(host)
    if not path:
        pytest.skip(f"{host} can't be installed: {version}")
    record_property("host", (host, version))
    (tmp_path / "home").mkdir()
    return new_session(host, tmp_path / "home", tmp_path / "folder")


def write(top: Path, texts: Mapping[str, str | int]) -> list[Path]:
    """Files, and links, below a folder; a number is that of the lines of a file."""
    paths = [top / path for path in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, str) and text.startswith("-> "):
            path.symlink_to(text[3:])
        else:
            whole = text if isinstance(text, str) else numbered(path.parent.name + path.name, text)
            path.write_bytes(whole.encode())
    return paths


def long_lines(path: str) -> dict[int, str]:
    """The lines of a file that are long enough to be known again, by number; a host may replace those with imports."""
    lines = enumerate(Path(path).read_bytes().decode().split("\n"), 1)
    return {number: line.strip("\ufeff\r ") for number, line in lines if len(line) > 11 and "@" not in line}


def lost_lines(file: Mapping[str, Any]) -> set[int]:
    """The lines of a file that do not reach the model, as `explain --host` says."""
    parts = [range(part["first"], part["last"] + 1) for part in file["lost"]]
    return {number for part in [*parts, file["taken_out"]] for number in part}


@pytest.mark.parametrize(("host", "layout"), CASES, ids=[f"{host}-{layout.tries}" for host, layout in CASES])
def test_lines_that_a_host_sends_are_those_that_explain_tells(host: str, layout: Layout, session: Session) -> None:
    main = MAIN.get(host, "AGENTS.md")
    paths = write(session.folder, {path.replace("MAIN", main): text for path, text in layout.files.items()})
    memory = f".claude/projects/{re.sub('[^A-Za-z0-9]', '-', str(session.folder / layout.session))}/memory/MEMORY.md"
    own = {memory if path == "MEMORY.md" else path: text for path, text in layout.home.items()}
    outside = write(
        session.home, {path: text for path, text in own.items() if path.startswith(f".{host.partition('-')[0]}/")}
    )
    words = [word for path in outside for word in ("--host-file", str(path))]
    started = session._replace(folder=session.folder / layout.session)
    told = json.loads(inside("explain", "--host", host, "--json", *words, cwd=started.folder).out)
    lost = {os.path.realpath(Path(told["root"], file["path"])): lost_lines(file) for file in told["files"]}
    texts = {path: long_lines(path) for path in {str(path.resolve()) for path in [*paths, *outside]}}
    sent = started.ask("hello")[0]  # OpenClaw takes BOOTSTRAP.md away
    for path, lines in texts.items():
        seen = {number for number, line in lines.items() if line in sent}
        assert sorted(seen) == sorted(lines.keys() - lost.get(path, lines.keys())), path


PAGES = ROOT / "docs" / "hosts"
"""A page for each host; the first block of commands in it sets the host up."""


def set_up(session: Session) -> None:
    """Run the lines that the page of the host shows, in a workspace whose newest memories are not about the demo."""
    text = (PAGES / f"{session.host}.md").read_text(encoding="utf-8")
    memories = [f"- ({day:02} Oct 2025) The lamp of the light tower number {day} was cleaned." for day in range(1, 31)]
    write(
        session.folder,
        {
            "agents/luna/IDENTITY.md": "You are Luna, who keeps a <light> tower.\n",
            "agents/luna/INSTRUCTIONS.md": numbered("i", 300),
            "agents/luna/memories/2025.md": "\n".join(
                [*memories, "- (01 Jan 2025) The demo is on Friday in Fernhill."]
            ),
            "ctxasm.yaml": "agent: luna\n",
        },
    )
    session.run("sh", "-ec", text.partition("```sh\n")[2].partition("```")[0])
    settings = session.home / HOSTS[session.host].settings[0]
    if session.host == "codex":  # it does not wait for a server, unless it is told to
        settings.write_text(
            settings.read_text().replace("[mcp_servers.ctxasm]\n", "[mcp_servers.ctxasm]\nrequired = true\n")
        )


def answers(session: Session, command: str) -> list[dict[str, Any]]:
    """What our command answered, call by call."""
    lines = [line for path in session.home.glob(f"{command}.*") for line in path.read_text("utf-8").splitlines()]
    return [json.loads(line) for line in lines if line.startswith('{"')]


def has(sent: str, text: str) -> bool:
    """Whether a text is in a request, as it is, as JSON, or with the signs that Gemini CLI writes for `<` and `>`."""
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    return any(form in sent for form in (text, escaped, text.replace("<", "&lt;").replace(">", "&gt;")))


@pytest.mark.parametrize("host", LETTERS)
def test_hooks_and_tools_of_the_page_reach_the_model_whole(host: str, session: Session) -> None:
    set_up(session)
    requests = session.ask("When is the demo in Fernhill?", tool="build_context")
    hook, called = load_host(host, "test").hook, answers(session, "mcp")
    outputs = [each["hookSpecificOutput"] for each in answers(session, "hook") if "hookSpecificOutput" in each]
    assert {each["hookEventName"] for each in outputs} == ({hook.start, hook.prompt} if hook else set())
    for each in outputs:
        assert has(requests[0], each["additionalContext"]), each
        assert ("Fernhill" in each["additionalContext"]) == (each["hookEventName"] != "SessionStart")
    built = [part["text"] for each in called for part in each.get("result", {}).get("content", ())]
    assert "You are Luna" in built[0]
    assert [text for text in built if not has(requests[-1], text)] == []
    assert "search_memories" in "".join(requests) or host == "openclaw"  # it names tools only to a model that searches


@pytest.mark.parametrize("host", ["claude-code"])
def test_plug_in_brings_hooks_tools_and_skill(host: str, session: Session) -> None:
    assert host == session.host
    set_up(session)
    shutil.rmtree(session.folder / ".claude")
    session.run("claude", "mcp", "remove", "ctxasm")
    session.run("claude", "plugin", "marketplace", "add", str(ROOT))
    session.run("claude", "plugin", "install", "ctxasm@ctxasm")
    requests = session.ask("When is the demo in Fernhill?", tool="build_context")
    assert (
        len(
            [
                each
                for each in answers(session, "hook")
                if has(requests[0], each["hookSpecificOutput"]["additionalContext"])
            ]
        )
        == 2
    )
    assert "mcp__plugin_ctxasm_ctxasm__build_context" in requests[-1]
    assert "ctxasm:ctxasm" in requests[0]
