"""The profiles that a workspace is built with: those that its settings and its list of outputs name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from contextasm.config.input.options import ProcessEnvironment
from contextasm.config.input.settings import FILE, Setting, resolve_settings
from contextasm.config.input.yaml_loader import YamlMapping
from contextasm.config.keys.outputs import parse_outputs
from contextasm.config.profiles.overrides import resolve_profile, with_detected_profile
from contextasm.model import Profile

if TYPE_CHECKING:
    from contextasm.workspace.folder import Folder
    from contextasm.workspace.git.revision import GitWorkspace


def workspace_profiles(
    typed: Mapping[str, Setting],
    settings_file: YamlMapping,
    workspace: Folder | GitWorkspace,
    process: ProcessEnvironment,
    digests: dict[str, str],
) -> Iterator[Profile]:
    """The profiles of the `typed` settings, of `ctxasm.yaml` and of its `outputs:`, each once, with no strategy.

    The files that they are made of are added to `digests`, as `resolve_profile` does. Raises `ContextasmError` for
    settings and profiles that can't be used.
    """
    settings, _ = with_detected_profile({**typed}, settings_file, workspace)
    outputs = [(dict(output.words), output.line) for output in parse_outputs(settings_file)]
    listed = [Setting(words["profile"], f"{FILE}:{line}") for words, line in outputs if "profile" in words]
    named_in_file = resolve_settings({}, {}, settings_file)["profile"]
    for setting in dict.fromkeys((settings["profile"], named_in_file, *listed)):
        named = {**settings, "profile": setting, "strategy": Setting("", "default")}
        yield resolve_profile(named, settings_file, workspace, process, digests)
