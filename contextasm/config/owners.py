"""The agent and the team of a build: folders of the workspace that are named, or the only one there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from contextasm.config.input import values
from contextasm.config.input.settings import Setting
from contextasm.model import ContextasmError, Problem, Profile, Workspace
from contextasm.text.names.matching import list_names
from contextasm.text.names.places import AGENT_FILES, OWNER_FILES, OwnerKind, any_owner_pattern
from contextasm.text.names.templates import fill_template, is_pattern, placeholders

if TYPE_CHECKING:
    from contextasm.workspace.folder import Folder


def uses_placeholder(profile: Profile, name: str) -> bool:
    """Whether a path of the profile has this name in braces."""
    return any(name in placeholders(path) for layer in profile.layers for path in layer.query.paths)


def resolve_agent(setting: Setting, profile: Profile, workspace: Workspace, whole: Profile, folder: Folder) -> Setting:
    """The agent of a build: the one that is named, else the only one.

    `whole` is the profile before `--scope` left out layers: an option is unused if that does not use it. `folder` is
    what `workspace` reads; an error tells what other programs left there. Raises
    `ContextasmError` for an unknown agent, for one without IDENTITY.md or INSTRUCTIONS.md, if none is named and there
    is not exactly one, and for an option `--agent` that the profile does not use.
    """
    if not uses_placeholder(profile, "agent"):
        refuse_unused_option(setting, whole, "agent")
        return setting
    if profile.agents:
        require_own_files(setting, whole, workspace)
        return setting
    if not setting.value:
        return Setting(only_agent(owner_names(workspace, "agent"), folder), "the only agent")
    agent = str(setting.value)
    owner_folder(workspace, "agent", agent, setting.origin)
    for path in (fill_template(template, {"agent": agent}) for template in AGENT_FILES):
        if workspace.read(path) is None:
            hint = f"write the file, or run `ctxasm init --agent {agent}`, which overwrites nothing"
            here = workspace.list(f"{path.rpartition('/')[0]}/*")
            if alike := next((name for name in here if name.casefold() == path.casefold()), ""):
                hint = f"rename {alike}, because upper and lower case differ"
            raise ContextasmError(path, "is missing", hint)
    return setting


def require_own_files(setting: Setting, profile: Profile, workspace: Workspace) -> None:
    """Raise `ContextasmError` for an agent without any of the files that a profile with `agents` reads by name."""
    own = [path for layer in profile.layers for path in layer.query.paths if not is_pattern(path)]
    found = (found for path in own for found in workspace.list(any_owner_pattern(path)))
    place = profile.agents.split("/").index("{agent}")
    names = sorted({path.split("/")[place] for path in found if path.count("/") > place})
    if not names:
        raise ContextasmError(setting.origin, f"profile {profile.name} reads no agent here", "leave it out")
    values.require_known(str(setting.value), names, setting.origin, "agent")


def check_team(setting: Setting, profile: Profile, workspace: Workspace, whole: Profile) -> None:
    """Raise `ContextasmError` for an unknown team, and for an option `--team` that the profile does not use.

    `whole` is the profile before `--scope` left out layers: an option is unused if that does not use it.
    """
    is_used = uses_placeholder(profile, "team")
    if not is_used:
        refuse_unused_option(setting, whole, "team")
    if setting.value and (is_used or setting.origin.startswith("--")):
        owner_folder(workspace, "team", str(setting.value), setting.origin)


def owner_folder(workspace: Workspace, kind: OwnerKind, name: str, origin: str) -> str:
    """The folder of an agent or a team, such as `agents/luna`.

    Raises `ContextasmError` at `origin`, with the nearest name, if the folder does not exist, and for a folder that
    can't be listed.
    """
    folder = f"{kind}s/{name}"
    paths = workspace.list(f"{folder}/*") or workspace.list(f"{folder}/**/*")
    if paths == [f"{folder}/"] and isinstance(problem := workspace.read(paths[0]), Problem):
        raise ContextasmError(folder, problem.message, "make this folder readable")
    if not paths:
        names = owner_names(workspace, kind)
        if not names:
            hint = f"no {kind} exists yet; make it with `ctxasm init --{kind} {name}`"
            raise ContextasmError(origin, f"unknown {kind} `{name}`", hint)
        values.require_known(name, names, origin, kind)
    return folder


def only_agent(names: Sequence[str], folder: Folder, advice: str = "name one with -a NAME") -> str:
    """The name of the only agent of a folder. Raises `ContextasmError`, with `advice`, if there is not exactly one."""
    if len(names) == 1:
        return names[0]
    if names:
        raise ContextasmError("agent", "no agent is named", f"{advice} (agents: {list_names(names)})")
    from contextasm.config.profiles.detection import detect  # here: most workspaces have agents

    others = [f"use -p {profile} for {sign}" for profile, sign in detect(folder)]
    raise ContextasmError(
        "agent", "no agent exists", ", or ".join([*others, "make one with `ctxasm init --agent NAME`"])
    )


def owner_names(workspace: Workspace, kind: OwnerKind) -> list[str]:
    """The names of all agents, or of all teams. Raises `ContextasmError` for a folder that leads out."""
    paths = [(path, path.split("/")) for path in workspace.list(OWNER_FILES[kind])]
    for path, parts in paths:
        if len(parts) < 3 and isinstance(problem := workspace.read(path), Problem):
            raise ContextasmError(path, problem.message, "replace it with a folder")
    return sorted({parts[1] for _, parts in paths if len(parts) == 3})


def refuse_unused_option(setting: Setting, profile: Profile, kind: OwnerKind) -> None:
    """Raise `ContextasmError` for an option with the name of an agent or a team, if the profile reads none."""
    if setting.value and setting.origin.startswith("--") and not uses_placeholder(profile, kind):
        raise ContextasmError(setting.origin, f"profile {profile.name} reads no {kind}", "leave it out")
