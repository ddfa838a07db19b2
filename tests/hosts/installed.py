"""The hosts as their packages install them, each in a home of its own and, if the system lets us, without a network."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.hosts import model_server

PLACE = Path(os.environ.get("CTXASM_HOSTS") or "/var/tmp/ctxasm-hosts")  # noqa: S108 - two gigabytes, so not in memory
"""The folder in which the hosts are installed, and kept for the next time."""

DEAD = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
"""A proxy that nobody answers at, for a host that shares the network of this machine."""

ALONE = ("unshare", "-rnpf", "--kill-child", "--mount-proc", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
"""Before a command: no network but the loopback, and no process that outlives it."""


class Program(NamedTuple):
    """A host, as it is installed and told to ask our model; URL and HOME in texts stand for the server and the home."""

    package: str
    """Of npm, or of PyPI if there is no `@version`."""
    prompt: tuple[str, ...]
    """The words before a prompt."""
    env: tuple[tuple[str, str], ...] = ()
    settings: tuple[str, str] = ("", "")
    """A file in the home, and its text."""


_CODEX = """model = "gpt-5.5"
model_provider = "local"
check_for_update_on_startup = false
analytics.enabled = false
model_providers.local = {name = "local", base_url = "URL/v1", env_key = "KEY", wire_api = "responses"}
"""  # for a model that it does not know, Codex takes smaller limits
_GEMINI = {
    "model": {"name": "gemini-2.5-pro"},
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
}
_MODEL = {"id": "m", "name": "m", "reasoning": False, "input": ["text"], "contextWindow": 200_000, "maxTokens": 8192}
_FREE = {"cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)}
_PROVIDER = {"baseUrl": "URL/v1", "apiKey": "k", "api": "openai-completions", "models": [_MODEL | _FREE]}
_OPENCLAW = {
    "models": {"providers": {"local": _PROVIDER}},
    "agents": {"defaults": {"workspace": "FOLDER", "model": {"primary": "local/m"}}},
}
_HERMES = "model: {default: m, provider: custom, base_url: URL/v1, api_key: k, context_length: 64000}\n"

HOSTS = {
    "node": Program("node@26", ()),  # npm takes an old Claude Code with an old Node, and OpenClaw wants 26
    "claude-code": Program(
        "@anthropic-ai/claude-code@latest",
        ("claude", "--allowedTools", "mcp__ctxasm,mcp__plugin_ctxasm_ctxasm", "-p"),
        (("ANTHROPIC_BASE_URL", "URL"), ("ANTHROPIC_API_KEY", "k"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")),
    ),
    "codex": Program(
        "@openai/codex@latest",
        ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--trust",
         "--dangerously-bypass-hook-trust"),
        (("KEY", "k"),),
        (".codex/config.toml", _CODEX),
    ),
    "gemini": Program(
        "@google/gemini-cli@latest",
        ("gemini", "--yolo", "-p"),
        (("GEMINI_API_KEY", "k"), ("GOOGLE_GEMINI_BASE_URL", "URL"), ("GEMINI_CLI_TRUST_WORKSPACE", "true")),
        (".gemini/settings.json", json.dumps(_GEMINI)),
    ),
    "hermes": Program("hermes-agent[mcp]", ("hermes", "-z"), (), (".hermes/config.yaml", _HERMES)),
    "openclaw": Program(
        "openclaw@latest",
        ("openclaw", "agent", "--local", "--agent", "main", "--message"),
        (("OPENCLAW_HOME", "HOME"),),
        (".openclaw/openclaw.json", json.dumps(_OPENCLAW)),
    ),
}  # fmt: skip


@cache
def install(name: str) -> tuple[str, str]:
    """The folders of a host's command and of Node, as a part of PATH, and its newest version.

    The version that is there, if the newest one can't be had; an empty path, and the reason, if there is none.
    """
    package, node, folder = HOSTS[name].package, "", PLACE / name
    plain = package.rpartition("@")[0]
    if not plain:
        error = _finish([sys.executable, "-m", "venv", str(folder)], PLACE)
        error = error or _finish([str(folder / "bin/pip"), "install", "-qU", package], PLACE)
        found = [*folder.glob("lib/*/site-packages/hermes_agent-*/METADATA")]
        version = re.search(r"^Version: (.*)", found[0].read_text(encoding="utf-8"), re.MULTILINE) if found else None
        return (f"{folder}/bin", version[1]) if version else ("", error)
    if name != "node":
        node, _ = install("node")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text("{}")
    data = folder / "node_modules" / plain / "package.json"
    error = ""
    if name != "node" or not data.exists():
        path = f"{node}:{os.environ['PATH']}"
        error = _finish(["npm", "install", "--no-audit", "--no-fund", package], folder, {**os.environ, "PATH": path})
    if not data.exists():
        return "", error
    return f"{folder}/node_modules/.bin:{node}", json.loads(data.read_text(encoding="utf-8"))["version"]


def _finish(command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> str:
    """Why a command that installs something did not end well, or nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=200, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stderr.strip()[-300:] if done.returncode else ""


@cache
def alone() -> Sequence[str]:
    """The words of ALONE, or none if the system does not let us."""
    return ALONE if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0 else ()


class Session(NamedTuple):
    """A host in a home of its own, with a folder that it works in."""

    host: str
    home: Path
    folder: Path
    port: int

    def run(self, *command: str, tool: str = "") -> list[Mapping[str, Any]]:
        """Run a command as a person would and give the requests to the model, which calls this tool."""
        bins, _ = install(self.host)
        log = self.home / "requests.jsonl"
        log.write_bytes(b"")
        server = [sys.executable, str(Path(model_server.__file__)), str(self.port), str(log), tool]
        more = {key: self._filled(value) for key, value in HOSTS[self.host].env}
        path = f"{self.home}/bin:{bins}:/usr/local/bin:/usr/bin:/bin"
        env = {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1", **more}
        with (self.home / "said").open("wb") as said:  # OpenClaw leaves a process behind that keeps a pipe open
            done = subprocess.run(
                [*alone(), *server, *command],
                cwd=self.folder,
                env=env | ({} if alone() else DEAD),
                stdout=said,
                stderr=subprocess.STDOUT,
                timeout=150,
                check=False,
            )
        assert done.returncode == 0, self.said()
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]

    def ask(self, prompt: str, tool: str = "") -> Sequence[str]:
        """The texts of each request to the model that a prompt leads to; requests without tools are for other ends."""
        requests = self.run(*HOSTS[self.host].prompt, prompt, tool=tool)
        asked = ["\n".join(texts(each)) for each in requests if each.get("tools")]
        assert asked, f"{self.host} sent nothing: {self.said()}"
        return asked

    def said(self) -> str:
        """The end of what the last command printed."""
        return (self.home / "said").read_text(encoding="utf-8", errors="replace")[-2000:]

    def _filled(self, text: str) -> str:
        text = text.replace("URL", f"http://127.0.0.1:{self.port}").replace("HOME", str(self.home))
        return text.replace("FOLDER", str(self.folder))


def new_session(host: str, home: Path, folder: Path) -> Session:
    """A host that is told to ask our model, in an empty home and an empty repository; `bin/ctxasm` keeps its answers.

    What `ctxasm hook` and `ctxasm mcp` print is in a file each, `hook.*` and `mcp.*` in the home.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        session = Session(host, home, folder, free.getsockname()[1])
    subprocess.run(["git", "init", "-q", folder], check=True)
    script = home / "bin/ctxasm"
    script.parent.mkdir(parents=True)
    kept = f'exec {sys.executable} -m contextasm "$@" | tee "$(mktemp {home}/$1.XXXXXX)"'
    script.write_text(f"#!/bin/sh\ncase $1 in hook | mcp) {kept} ;; *) {kept.partition(' |')[0]} ;; esac\n")
    script.chmod(0o755)
    path, text = HOSTS[host].settings
    if path:
        (home / path).parent.mkdir()
        (home / path).write_text(session._filled(text))
    return session


def texts(value: object) -> Iterator[str]:
    """Every text in a request, in order."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, str):
        yield value
    for each in inner:
        yield from texts(each)
