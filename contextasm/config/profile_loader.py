"""Profiles: YAML files that say which layers there are, in which order and how large. All are read by this code.

A profile is shipped with the package or is a file of the user's; `extends` starts from another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from contextasm.config import values
from contextasm.config.layers import with_layer_changes
from contextasm.config.values import ParseValue
from contextasm.config.yaml_loader import YamlMapping, load_mapping
from contextasm.model import Conflicts, ContextasmError, Profile
from contextasm.ranking.deduplicate import METHODS
from contextasm.rendering.frame import MARKERS

SHIPPED = Path(__file__).parent / "profiles"

KEYS: dict[str, ParseValue] = {
    "summary": values.parse_text,
    "extends": values.parse_text,
    "budget": values.parse_tokens,
    "marker": values.one_of(MARKERS),
    "fill": values.parse_percent,
    "merge": lambda value, _where: value,
    "conflicts": lambda value, _where: value,
    "layers": lambda value, _where: value,
    "strategies": lambda value, _where: value,
}
"""What a profile may say, and how it is read."""

STRATEGY_KEYS = ("summary", "budget", "marker", "layers")
"""What a strategy of a profile may change."""


def shipped() -> list[str]:
    """The names of the profiles in the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.yaml"))


def read_file(path: Path, where: str) -> str:
    """The text of a profile's file on the disk."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ContextasmError(where, f"{path}: {what}", "name a profile's file that can be read") from error


def load_profile(
    name: str,
    where: str,
    folder: Path,
    seen: Sequence[Path] = (),
    read: Callable[[Path, str], str] = read_file,
) -> Profile:
    """The profile of this name, or in this file.

    `where` is who asks for it, for messages; a file's path is taken from `folder`, and `read` gives its text. Raises
    `ContextasmError` for an unknown name, for a file that can't be read and for anything in it that is not understood.
    """
    path = _path(name, where, folder)
    if path in seen:
        raise ContextasmError(str(path), "extends itself", "take one `extends` out of the circle")
    table = load_mapping(read(path, where), path.name if path.parent == SHIPPED else str(path))
    table.refuse_unknown(KEYS)
    given = {key: KEYS[key](value, f"{table.where(key)}: {key}") for key, value in table.items()}
    base = Profile(path.stem, "", 16_000, "plain", ())
    if "extends" in given:
        base = load_profile(
            str(given["extends"]), f"{table.where('extends')}: extends", path.parent, (*seen, path), read
        )
    return _with_strategies(_changed_profile(base._replace(name=path.stem), table), table)


def _changed_profile(base: Profile, table: YamlMapping) -> Profile:
    """A profile with the changes that a mapping makes to it."""
    given = {key: KEYS[key](value, f"{table.where(key)}: {key}") for key, value in table.items()}
    profile = with_layer_changes(base, given.get("layers"), f"{table.where('layers')}: layers", new=True)
    return profile._replace(
        summary=str(given.get("summary", base.summary)),
        budget=values.parse_tokens(given.get("budget", base.budget), table.where("budget")),
        marker=str(given.get("marker", base.marker)),
        merge=_merging(table["merge"], f"{table.where('merge')}: merge") if "merge" in table else base.merge,
        conflicts=_conflicts(table["conflicts"], table) if "conflicts" in table else base.conflicts,
        fill=values.parse_percent(given.get("fill", base.fill), table.where("fill")) or 0,
    )


def _merging(value: object, where: str) -> tuple[str, ...]:
    """The ways in which fragments may be the same."""
    return tuple(
        values.require_known(each, METHODS, where, "way to be the same") for each in values.parse_texts(value, where)
    )


def _conflicts(value: object, table: YamlMapping) -> Conflicts | None:
    """How conflicts are settled; None for not at all."""
    where = f"{table.where('conflicts')}: conflicts"
    if value is None:
        return None
    if not isinstance(value, YamlMapping):
        raise ContextasmError(where, "is no mapping", "write `severity:` and `precedence:` under it")
    value.refuse_unknown(("severity", "otherwise", "precedence"))
    severity = value.get("severity", {})
    if not isinstance(severity, dict):
        raise ContextasmError(where, "severity names no types", "write {TYPE: 0.2, ...}")
    return Conflicts(
        severity=tuple((kind, values.parse_fraction(share, f"{where}: severity")) for kind, share in severity.items()),
        otherwise=values.parse_fraction(value.get("otherwise", Conflicts().otherwise), f"{where}: otherwise"),
        precedence=values.parse_texts(value.get("precedence", []), f"{where}: precedence"),
    )


def _with_strategies(profile: Profile, table: YamlMapping) -> Profile:
    """A profile with its named strategies: each changes only what it says."""
    named = table.get("strategies")
    where = f"{table.where('strategies')}: strategies"
    if named is None:
        return profile
    if not isinstance(named, YamlMapping) or not all(isinstance(each, YamlMapping) for each in named.values()):
        raise ContextasmError(where, "is no mapping", "write `NAME:` and below it what it changes")
    found = {**dict(profile.strategies)}
    for name, own in named.items():
        assert isinstance(own, YamlMapping)
        own.refuse_unknown(STRATEGY_KEYS)
        found[values.parse_name(name, where)] = _changed_profile(profile._replace(strategies=()), own)
    return profile._replace(strategies=tuple(found.items()))


def with_strategy(profile: Profile, name: str, where: str) -> Profile:
    """A profile under one of its strategies. Raises `ContextasmError` for an unknown one."""
    strategies = dict(profile.strategies)
    return strategies[values.require_known(name, strategies, where, "strategy")]


def _path(name: str, where: str, folder: Path) -> Path:
    """The file that a profile's name or path means."""
    if "/" in name or name.endswith((".yaml", ".yml")):
        return (folder / name).resolve()
    return SHIPPED / f"{values.require_known(name, shipped(), where, 'profile')}.yaml"


def profile_files(name: str, folder: Path) -> Sequence[Path]:
    """The files that this profile is made of, as far as they can be read; those in the package are not among them."""
    found: list[Path] = []
    while name and ("/" in name or name.endswith((".yaml", ".yml"))):
        path = (folder / name).resolve()
        if path in found:
            break
        found.append(path)
        try:
            base = load_mapping(read_file(path, ""), str(path)).get("extends")
        except ContextasmError:
            break
        name, folder = str(base or ""), path.parent
    return found
