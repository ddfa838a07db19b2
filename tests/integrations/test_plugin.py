"""What the repository offers to hosts: the skill, the plug-in folder for Claude Code, the entry of the MCP registry."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from contextasm import __version__
from contextasm.cli.command_line import COMMANDS
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.integrations.mcp_answers import ServedWorkspace
from tests.command import ROOT, inside
from tests.integrations.test_mcp_server import ask

SKILL = (ROOT / "skills" / "ctxasm" / "SKILL.md").read_text(encoding="utf-8")


def data(path: str) -> Any:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def test_hooks_are_those_that_the_command_prints() -> None:
    assert data("hooks/hooks.json") == json.loads(inside("hook", "--print-config", "claude-code").out)


@pytest.mark.parametrize("path", ["plugin.json", ".claude-plugin/plugin.json", "server.json"])
def test_version_is_that_of_the_package(path: str) -> None:
    assert data(path)["version"] == __version__


def test_plug_in_has_the_form_that_clients_load() -> None:
    """Facts of the Agent Plugins Specification 1.0.0, sections 5 and 7: any other field is unknown there."""
    manifest, servers = data("plugin.json"), data("mcp.json")
    places = [f"https://agent-plugins.org/schemas/1.0.0/{name}.schema.json" for name in ("plugin", "mcp")]
    assert [manifest["$schema"], servers["$schema"]] == places
    known = {"name", "version", "description", "author", "homepage", "repository", "license", "keywords", "extensions"}
    assert ({*manifest} <= {"$schema", *known}, {*manifest["author"]}) == (True, {"name"})
    assert re.fullmatch(r"(?!.*(--|\.\.))[a-z0-9]([a-z0-9.-]{0,62}[a-z0-9])?", manifest["name"])
    assert {*servers} == {"$schema", "mcpServers"}
    assert [{*server} for server in servers["mcpServers"].values()] == [{"type", "command", "args"}]
    assert [(each["type"], each["command"]) for each in servers["mcpServers"].values()] == [("stdio", "ctxasm")]
    assert {path.parent.name for path in ROOT.glob("skills/*/SKILL.md")} == {"ctxasm"}


def test_server_is_started_with_words_that_it_knows() -> None:
    words = data(".claude-plugin/plugin.json")["mcpServers"]["ctxasm"]["args"]
    others = data("mcp.json")["mcpServers"]["ctxasm"]["args"]
    (package,) = data("server.json")["packages"]
    named = [argument["name"] for argument in package["packageArguments"] if argument["type"] == "named"]
    options = [word for word in [*words, *others, *named] if word.startswith("--")]
    text = inside("mcp", "--help").out
    assert [option for option in options if not re.search(rf"{option}\b", text)] == []
    assert (package["identifier"], package["version"]) == ("contextasm", __version__)
    assert words[0] == others[0] == package["packageArguments"][0]["value"] == "mcp"


def test_registry_finds_its_mark_in_the_readme() -> None:
    assert f"<!-- mcp-name: {data('server.json')['name']} -->" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_skill_has_the_form_of_one() -> None:
    _, front, body = SKILL.split("---\n", 2)
    fields = load_yaml(front, "SKILL.md")
    assert isinstance(fields, dict)
    assert fields["name"] == "ctxasm"
    assert 40 < len(str(fields["description"])) <= 1024
    assert len(body.splitlines()) < 500


def test_skill_names_commands_and_tools_that_exist() -> None:
    spans = re.findall(r"`([^`]+)`", SKILL)
    commands = [span.split() for span in spans if span.startswith("ctxasm ")]
    assert [words for words in commands if words[1] not in COMMANDS] == []
    for words in commands:
        options = [word for word in words[2:] if word.startswith("--")]
        text = inside(words[1], "--help").out
        assert [option for option in options if option not in text] == []
    served = ServedWorkspace(str(ROOT / "sample_workspace"), writes=True)
    offered = {tool.name for tool in ask(served, lambda client: client.list_tools()).tools}
    assert offered <= {span for span in spans if span.isidentifier()}
