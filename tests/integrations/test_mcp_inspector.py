"""The MCP server as the Inspector sees it, the protocol's own client for the command line.

Only `-m npm` runs this: it fetches the Inspector, and a Node that is new enough for it, from npm's registry.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.command import ROOT, SAMPLE, inside

PACKAGES = ("node@22", "@modelcontextprotocol/inspector@2.12.0")
"""The Inspector wants Node 22.19 or later; the first package brings the binary."""

LAUNCHER = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"

Inspect = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def inspect(tmp_path_factory: pytest.TempPathFactory) -> Inspect:
    folder = tmp_path_factory.mktemp("inspector")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    settings = {name: value for name, value in os.environ.items() if name.casefold().startswith("npm_config_")}
    npm = shutil.which("npm")
    if not npm:
        pytest.skip("npm is not installed")
    install = [npm, "install", "--no-audit", "--no-fund", *PACKAGES]
    installed = subprocess.run(
        install, cwd=folder, env=env | settings, capture_output=True, text=True, timeout=300, check=False
    )
    if installed.returncode:
        pytest.skip(f"npm can't fetch the Inspector: {installed.stderr.strip()[-300:]}")

    def ask(*words: str) -> subprocess.CompletedProcess[str]:
        server = [sys.executable, "-m", "contextasm", "mcp", "-w", str(SAMPLE), "-a", "luna", "-t", "q1"]
        command = [
            str(folder / "node_modules/.bin/node"),
            LAUNCHER,
            "--cli",
            "-e",
            f"PYTHONPATH={ROOT}",
            *server,
            *words,
        ]
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)

    return ask


def answer(inspect: Inspect, words: Sequence[str]) -> Any:
    done = inspect(*words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.npm
def test_inspector_lists_calls_and_reads(inspect: Inspect) -> None:
    tools = answer(inspect, ["--method", "tools/list", "--strict"])["tools"]
    assert [tool["name"] for tool in tools] == ["build_context", "explain_context", "search_memories"]
    document = inside("build", "-q", "-w", SAMPLE, "-a", "luna", "-t", "q1", "--audience", "shared").out
    built = answer(inspect, ["--method", "tools/call", "--tool-name", "build_context"])
    assert built["content"][0]["text"] == document
    read = answer(inspect, ["--method", "resources/read", "--uri", "context://start"])
    assert read["contents"][0]["text"] == document
    prompt = answer(inspect, ["--method", "prompts/get", "--prompt-name", "start"])
    assert prompt["messages"][0]["content"]["text"] == document
    refused = inspect("--method", "tools/call", "--tool-name", "build_context", "--tool-arg", "agent=kenji")
    assert refused.returncode != 0
    assert "the command line of this server sets it" in refused.stdout
