"""The section `hook:` of `ctxasm.yaml`: what each type of subagent gets from `ctxasm hook`."""

from __future__ import annotations

from collections.abc import Mapping

from contextasm.config.input import values
from contextasm.config.input.settings import Setting
from contextasm.config.input.yaml_loader import YamlMapping, parse_mapping
from contextasm.text.names.glob import wildcard_matches

AGENT_BUDGET = 1000
"""Tokens for a subagent, unless the settings name another number."""


def parse_agents(settings_file: YamlMapping) -> Mapping[str, Mapping[str, Setting] | None]:
    """The settings of each type of subagent, or pattern of types; None for one that gets nothing.

    Raises `ContextasmError` for an unknown key or a value that can't be used.
    """
    if settings_file.get("hook") is None:
        return {}
    hook = parse_mapping(settings_file["hook"], settings_file.where("hook"), "write `agents:` under `hook:`")
    agents: Mapping[str, Mapping[str, Setting] | None] = hook.parsed({"agents": _parse_types}).get("agents", {})
    return agents


def agent_settings(settings_file: YamlMapping, agent_type: str) -> Mapping[str, Setting] | None:
    """The settings of a subagent of this type, which a pattern may name; None if it gets nothing."""
    types = parse_agents(settings_file)
    default = {"budget": Setting(AGENT_BUDGET, "default")}
    fitting = (types[name] for name in types if wildcard_matches(name, agent_type))
    return types[agent_type] if agent_type in types else next(fitting, default)


def _parse_types(value: object, where: str) -> Mapping[str, Mapping[str, Setting] | None]:
    table = parse_mapping(value, where, "write a type of agent and its context, such as `Explore: none`")
    return {name: _parse_type(table[name], f"{table.where(name)}: {name}", table.where(name)) for name in table}


def _parse_type(value: object, where: str, origin: str) -> Mapping[str, Setting] | None:
    if value == "none":
        return None
    table = parse_mapping(value, where, "write `none`, or `{profile: NAME, budget: N}`")
    parsed = table.parsed({"profile": values.parse_text, "budget": values.parse_tokens})
    return {key: Setting(each, origin) for key, each in ({"budget": AGENT_BUDGET} | parsed).items()}
