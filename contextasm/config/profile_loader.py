"""Profiles: YAML files that say which layers there are, in which order and how large. All are read by this code.

A profile is shipped with the package or is a file of the user's; `extends` starts from another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from contextasm.config import values
from contextasm.config.values import ParseValue
from contextasm.config.yaml_loader import YamlMapping, load_mapping
from contextasm.model import Conflicts, ContextasmError, Layer, Profile
from contextasm.ranking.deduplicate import METHODS
from contextasm.ranking.order import ORDERS
from contextasm.rendering.frame import MARKERS
from contextasm.retrieval.registry import GROUP_FIELDS, ITEM_FIELDS, SOURCES, SOURCES_WITHOUT_PATH
from contextasm.selection.detail import LEVELS
from contextasm.selection.overflow import STEPS
from contextasm.text.templates import placeholders

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

LAYER_KEYS: dict[str, ParseValue] = {
    "id": values.parse_name,
    "heading": values.parse_texts,
    "source": values.some_of(SOURCES),
    "path": values.parse_inner_paths,
    "line": values.parse_text,
    "group": values.parse_text,
    "order": values.one_of(("given", *ORDERS)),
    "keep": values.one_of(("start", "end")),
    "groups": values.parse_texts,
    "tier": values.parse_word,
    "tiers": values.parse_words,
    "quota": values.parse_counts,
    "limits": values.parse_counts,
    "start": values.parse_texts,
    "depth": values.parse_count,
    "pool": values.parse_count,
    "types": values.parse_texts,
    "min_score": values.parse_fraction,
    "top": values.parse_count,
    "weights": values.parse_weights,
    "floor": values.parse_fraction,
    "days": values.parse_count,
    "fallback_days": values.parse_count,
    "enabled": values.parse_flag,
    "required": values.parse_flag,
    "max_tokens": values.parse_limit,
    "share": values.parse_percent,
    "ceiling": values.parse_percent,
    "reserve": values.parse_tokens,
    "fit": values.some_of(STEPS),
    "detail": values.one_of((*LEVELS, "adaptive")),
}
"""What a layer may say, and how it is read."""

PATH_NAMES = ("agent", "team", "open", "changed")
"""What may stand in braces in a path."""

LIMITED = ("title", "text", "files", "tags")
"""The fields of a memory that may have a limit."""

RESERVED = {"L6": "L6 is reserved: the layers go from L5 to L7, and nothing is defined for it"}


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
    """A profile with what a table says of it."""
    given = {key: KEYS[key](value, f"{table.where(key)}: {key}") for key, value in table.items()}
    return base._replace(
        summary=str(given.get("summary", base.summary)),
        budget=values.parse_tokens(given.get("budget", base.budget), table.where("budget")),
        marker=str(given.get("marker", base.marker)),
        layers=with_layer_changes(base.layers, given.get("layers"), f"{table.where('layers')}: layers", new=True),
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


def in_scope(layers: Sequence[Layer], scope: str | None) -> tuple[Layer, ...]:
    """The layers that a scope names, such as `L3,L4`, and those that are required; all for None."""
    if scope is None:
        return tuple(layers)
    known = [layer.id for layer in layers]
    named = {layer_id(each.strip(), known, "--scope") for each in scope.split(",")}
    kept = [layer for layer in layers if layer.required or layer.id in named]
    for layer in kept:
        for each in layer.start:
            if each not in {other.id for other in kept}:
                raise ContextasmError("--scope", f"{layer.id} starts from {each}", f"name {each} too")
    return tuple(kept)


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


def with_layer_changes(layers: Sequence[Layer], tables: object, where: str, *, new: bool) -> tuple[Layer, ...]:
    """The layers with what a list of tables says of them; `new` allows ids that are not among them.

    Raises `ContextasmError` for what is not understood.
    """
    if tables is None:
        return tuple(layers)
    if not isinstance(tables, list) or not all(isinstance(table, YamlMapping) for table in tables):
        raise ContextasmError(where, "is no list of layers", "write one `- id: ...` for each layer")
    known = {layer.id: layer for layer in layers}
    given: set[str] = set()
    for table in tables:
        key = layer_id(table.get("id"), known if not new else None, f"{table.where('id')}: id")
        if key in given:
            raise ContextasmError(table.where("id"), f"{key} is changed twice", "keep one of them")
        given.add(key)
        known[key] = _layer(table, known.get(key, Layer(key, (), (), ())))
        before = [*known][: [*known].index(key)]
        for each in known[key].start:
            values.require_known(each, before, f"{table.where('start')}: start", "layer before it")
    _check_shares(known.values(), where)
    return tuple(known.values())


def _check_shares(layers: Iterable[Layer], where: str) -> None:
    """Raise for shares that add up to more than the whole budget."""
    total = sum(layer.share or 0 for layer in layers)
    if total > 100:
        raise ContextasmError(where, f"the shares add up to {total:g} per cent", "have them add up to 100 at most")


def layer_id(value: object, known: Iterable[str] | None, where: str) -> str:
    """The id of a layer; one of `known` if that is given."""
    key = values.parse_name("" if value is None else value, where)
    if key in RESERVED:
        raise ContextasmError(where, RESERVED[key], "take another id")
    if not key:
        raise ContextasmError(where, "is missing", "give the layer an id, such as L3")
    return key if known is None else values.require_known(key, list(known), where, "layer")


def _layer(table: YamlMapping, base: Layer) -> Layer:
    """A layer with what a table says of it."""
    table.refuse_unknown(LAYER_KEYS)
    given = {key: LAYER_KEYS[key](value, f"{table.where(key)}: {key}") for key, value in table.items()}
    layer = base._replace(**given)  # type: ignore[arg-type]
    _check_braces(layer, table)
    for name, _ in layer.limits:
        values.require_known(name, LIMITED, f"{table.where('limits')}: limits", "field")
    for key in ("heading", "source", "path"):
        if not getattr(layer, key) and not (key == "path" and SOURCES_WITHOUT_PATH.issuperset(layer.source)):
            raise ContextasmError(table.where(key), f"{layer.id} has no {key}", f"add `{key}:`")
    if len(layer.heading) not in {1, len(layer.path) or 1}:
        what = f"{layer.id} has {len(layer.heading)} headings for {len(layer.path)} paths"
        raise ContextasmError(table.where("heading"), what, "give one heading, or one for each path")
    return layer


def _check_braces(layer: Layer, table: YamlMapping) -> None:
    """Raise for a name in braces that one of the layer's sources does not know."""
    for source in layer.source:
        known = {"path": PATH_NAMES, "line": ITEM_FIELDS.get(source, ()), "group": GROUP_FIELDS.get(source, ())}
        for key, allowed in known.items():
            for template in layer.path if key == "path" else (getattr(layer, key),):
                for name in placeholders(template):
                    values.require_known(name, allowed, f"{table.where(key)}: {key}", "name in braces")
