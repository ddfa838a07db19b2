"""Layers that rules name: by id, by a source that they read, or by their heading, resolved for the profile in use.

An unknown name ends the run, with the nearest one; a name of another profile stays as it is, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextasm.config.input import values
from contextasm.config.profiles.loader import load_profile, shipped
from contextasm.config.profiles.overrides import workspace_reader
from contextasm.model import SOURCE_TRAITS, ContextasmError, Layer, Profile, Rule
from contextasm.text.names.places import PROFILE_FILES

if TYPE_CHECKING:
    from contextasm.workspace.folder import Folder
    from contextasm.workspace.git.revision import GitWorkspace


def resolve_rule_layers(rules: Iterable[Rule], profile: Profile, workspace: Folder | GitWorkspace) -> tuple[Rule, ...]:
    """The rules with ids of the profile's layers in place of the sources and headings that they name.

    Raises `ContextasmError` for a name that neither this nor another profile of the workspace or the package knows.
    """
    return tuple(
        rule._replace(
            cap=tuple(_numbers_by_id("cap", rule.cap, rule, profile, workspace)),
            set_priority=tuple(_numbers_by_id("set_priority", rule.set_priority, rule, profile, workspace)),
        )
        for rule in rules
    )


def _numbers_by_id(
    action: str, numbers: Iterable[tuple[str, int]], rule: Rule, profile: Profile, workspace: Folder | GitWorkspace
) -> Iterator[tuple[str, int]]:
    where = f"{rule.path}:{rule.line}: rule `{rule.name}`: {action}"
    for name, number in numbers:
        ids = _layer_ids(name, profile.layers, where)
        if not ids and name not in {*profile.disabled, *_names_of_other_profiles(workspace)}:
            values.require_known(name, _layer_names(profile.layers), where, "layer")
        yield from ((id_, number) for id_ in ids or [name])


def _layer_ids(name: str, layers: Sequence[Layer], where: str) -> Sequence[str]:
    """The layers of this id, else those that read this source, else the one under this heading; empty for none."""
    if any(layer.id == name for layer in layers):
        return [name]
    if readers := [layer.id for layer in layers if name in layer.query.sources]:
        return readers
    for layer in layers:
        headings = [heading.casefold() for heading in layer.heading]
        if name.casefold() in headings and len(headings) > 1:
            what = f"{name} is one of {len(headings)} sections of {layer.id}"
            raise ContextasmError(where, what, f"name {layer.id}, which they share")
        if name.casefold() in headings:
            return [layer.id]
    return []


def _layer_names(layers: Iterable[Layer]) -> list[str]:
    """Every name that a rule may use for these layers: their ids, sources and headings."""
    names = [(layer.id, *layer.query.sources, *layer.heading) for layer in layers]
    return [*dict.fromkeys(name for group in names for name in group)]


def _names_of_other_profiles(workspace: Folder | GitWorkspace) -> set[str]:
    """The names of all sources, and of the layers of shipped profiles and of those in `profiles/`."""
    names = {*SOURCE_TRAITS}
    for name in (*shipped(), *workspace.list(PROFILE_FILES)):
        try:
            profile = load_profile(name, name, Path(workspace.root), read=workspace_reader(workspace))
        except ContextasmError:
            continue  # refused where it is in use
        names |= {*_layer_names(profile.layers), *profile.disabled}
    return names
