"""Nothing of an untrusted workspace runs, opens a socket or is imported, whatever its settings name (P8)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.command import TIMEOUT, clean, fill

AUDITED = """
import os, runpy, sys
log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
here = os.getcwd()
EVENTS = ("socket.connect", "socket.bind", "socket.getaddrinfo", "subprocess.Popen", "os.exec", "os.fork",
          "os.posix_spawn", "os.system", "pty.spawn", "ctypes.dlopen")
def audit(event, arguments):
    if event in EVENTS:
        os.write(log, f"{event} {arguments!r}\\n".encode())
    if event == "exec" and getattr(arguments[0], "co_filename", "").startswith(here):
        os.write(log, f"exec {arguments[0].co_filename}\\n".encode())
sys.addaudithook(audit)
sys.path[:] = [path for path in sys.path if path not in ("", here)]
runpy.run_module("contextasm", run_name="__main__", alter_sys=True)
"""
"""Runs the command, and writes a line for each socket, process and library, and for code of the current folder."""

EMBEDDERS = {
    "url": "embedder: {url: 'http://127.0.0.1:9/v1/embeddings', model: m, key_env: HOME}\n",
    "command": "embedder: {command: [touch, ran-embedder], model: m}\n",
    "folder": "embedder: {folder: model}\n",
}
SETTINGS = """date: 2025-03-14
summarizer: {command: [touch, ran-summarizer]}
layers:
  - {id: L5, max_tokens: 30, overflow: [summarize, drop]}
outputs:
  - {file: out.md}
"""

COMMANDS: Sequence[Sequence[str]] = (
    ("build", "--topic", "harbour"),
    ("check",),
    ("remember", "-a", "a", "Something new"),
    ("search", "harbour"),
    ("watch", "--topic", "harbour", "-o", "built.md"),
)


def hostile_workspace(folder: Path, embedder: str) -> Path:
    """A workspace whose settings name a program or a server for everything, and modules of the names of ours."""
    memories = "".join(f"- [fact] harbour number {n}, and more words about it\n" for n in range(20))
    modules = dict.fromkeys(
        ("yaml.py", "json.py", "sitecustomize.py", "contextasm/__init__.py"), "open('ran-module', 'w')"
    )
    files = {"ctxasm.yaml": SETTINGS + EMBEDDERS[embedder], "agents/a/memories/m.md": memories, "model/model.onnx": "x"}
    return fill(folder.resolve(), {**files, **modules})


def audited_events(root: Path, words: Sequence[str], env: dict[str, str]) -> Sequence[str]:
    """What a command opened and ran; `watch` is ended after its first build."""
    log = root.parent / "events"
    process = subprocess.Popen(
        [sys.executable, "-c", AUDITED, str(log), *words], cwd=root, env=clean(env), stdin=subprocess.DEVNULL
    )
    if words[0] == "watch":
        for _ in range(int(TIMEOUT / 0.05)):
            if (root / "built.md").exists():
                break
            time.sleep(0.05)
        process.terminate()
    process.wait(TIMEOUT)
    assert process.returncode in {0, 1, 143}
    return log.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("embedder", EMBEDDERS)
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_untrusted_workspace_opens_no_socket_and_runs_nothing(
    tmp_path: Path, words: Sequence[str], embedder: str
) -> None:
    """P8: what came with the repository is data; only the person's environment could let it run."""
    root = hostile_workspace(tmp_path / "w", embedder)
    events = audited_events(root, words, {"CTXASM_TRUST": f"{tmp_path}:{root}/agents"})
    ours = [event for event in events if not is_of_the_system(event)]
    assert ours == []
    assert [name for name in os.listdir(root) if name.startswith("ran-")] == []


def is_of_the_system(event: str) -> bool:
    """Whether an event is about a library of Python's own, or of the watch: none of them is in the workspace."""
    return event.startswith(("ctypes.dlopen (None,)", "ctypes.dlopen ('libc"))


@pytest.mark.parametrize(("embedder", "event"), [("url", "socket.connect"), ("command", "subprocess.Popen")])
def test_trusted_workspace_does_both(tmp_path: Path, embedder: str, event: str) -> None:
    root = hostile_workspace(tmp_path / "w", embedder)
    events = audited_events(root, ("build", "--topic", "harbour"), {"CTXASM_TRUST": str(root)})
    assert any(each.startswith(event) for each in events)
    assert any("touch" in each for each in events) == bool(shutil.which("touch"))
