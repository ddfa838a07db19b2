"""Layers as profiles and settings write them: flat keys in YAML, nested values in the model."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from contextasm.config.input import values
from contextasm.config.input.values import ParseValue
from contextasm.config.input.yaml_loader import YamlMapping
from contextasm.model import SOURCE_TRAITS, TITLE, ContextasmError, Layer, Limits, Profile
from contextasm.ranking.order import ORDERS
from contextasm.selection.overflow import STEPS
from contextasm.selection.sections import LEVELS
from contextasm.text.names.templates import placeholders

APP_FILES: Mapping[str, str] = {"obsidian": ".obsidian/daily-notes.json", "logseq": "logseq/config.edn"}
"""File of the workspace in which a program keeps its settings of daily logs, by the name of the program."""


def _parse_date_forms(value: object, where: str) -> tuple[str, ...]:
    from contextasm.text.names.dates import read_form  # here: most names are YYYY-MM-DD

    forms = values.parse_texts(value, where)
    for form in forms:
        if isinstance(fault := read_form(form), str):
            raise ContextasmError(where, f"{form} {fault}", "write a form such as YYYY_MM_DD or YYYY/MM/DD")
    return forms


LAYER_KEYS: Mapping[str, tuple[str, str, ParseValue]] = {
    "id": ("", "id", values.parse_name),
    "heading": ("", "heading", values.parse_texts),
    "source": ("query", "sources", values.some_of(SOURCE_TRAITS)),
    "path": ("query", "paths", values.parse_inner_paths),
    "except": ("query", "except_paths", values.parse_inner_paths),
    "dates": ("query", "dates", _parse_date_forms),
    "app": ("query", "app", values.one_of(APP_FILES)),
    "item": ("display", "item_template", values.parse_text),
    "group": ("display", "group_template", values.parse_text),
    "headings": ("display", "headings", values.one_of(("nest", "keep"))),
    "comments": ("display", "comments", values.one_of(("keep", "strip"))),
    "order": ("ranking", "order", values.one_of(("given", *ORDERS))),
    "keep": ("overflow", "keep", values.one_of(("start", "end", "ends"))),
    "group_order": ("display", "group_order", values.parse_texts),
    "cited": ("display", "cited", values.one_of(("show", "mark", "leave-out"))),
    "tier": ("memories", "tier", values.parse_word),
    "tiers": ("memories", "tier_of_key", values.by_name(values.parse_scalar)),
    "quota": ("memories", "key_quota", values.by_name(values.parse_count)),
    "limits": ("memories", "field_limits", values.by_name(values.parse_count)),
    "start_from": ("query", "start_from", values.parse_texts),
    "depth": ("query", "depth", values.parse_count),
    "max_candidates": ("query", "max_candidates", values.parse_count),
    "types": ("query", "event_types", values.parse_texts),
    "intents": ("query", "intents", values.parse_intents),
    "min_score": ("ranking", "min_score", values.parse_fraction),
    "top": ("ranking", "top", values.parse_count),
    "fallback_top": ("ranking", "fallback_top", values.parse_count),
    "weights": ("ranking", "weights", values.parse_weights),
    "min_match": ("query", "min_match", values.parse_fraction),
    "max_age_days": ("query", "max_age_days", values.parse_count),
    "fallback_days": ("query", "fallback_days", values.parse_count),
    "private": ("", "private", values.parse_flag),
    "required": ("limits", "required", values.parse_flag),
    "max_tokens": ("limits", "max_tokens", values.parse_limit),
    "share": ("limits", "share", values.parse_percent),
    "max_chars": ("limits", "max_chars", values.parse_limit),
    "grow": ("limits", "grow", values.parse_flag),
    "ceiling": ("limits", "ceiling", values.parse_percent),
    "reserve": ("limits", "reserve", values.parse_tokens),
    "reserve_share": ("limits", "reserve_share", values.parse_percent),
    "reserve_against": ("limits", "reserve_against", values.parse_texts),
    "within": ("limits", "within", values.parse_name),
    "leaves": ("limits", "leaves", values.parse_fraction),
    "overflow": ("overflow", "steps", values.some_of((*STEPS, TITLE))),
    "hidden": ("", "hidden", values.one_of(("strip", "keep", "fail"))),
    "locked": ("", "locked", values.parse_flag),
    "detail": ("overflow", "detail", values.one_of((*LEVELS, "adaptive"))),
}
"""For each key that sets a value: the part of `Layer`, empty for the layer itself; the field; and the parser."""

ENABLED = "enabled"
"""The key that switches a layer on or off. The model has no value for it: a build leaves such a layer out."""


def layer_value(layer: Layer, key: str) -> object:
    """The value that a layer has for a key of `LAYER_KEYS`."""
    part, field, _ = LAYER_KEYS[key]
    return getattr(getattr(layer, part) if part else layer, field)


def with_layer_values(layer: Layer, new_values: Mapping[str, object]) -> Layer:
    """A layer with other values for some keys of `LAYER_KEYS`."""
    changes: dict[str, Any] = {}
    for key, value in new_values.items():
        part, field, _ = LAYER_KEYS[key]
        if part:
            changes[part] = changes.get(part, getattr(layer, part))._replace(**{field: value})
        else:
            changes[field] = value
    return layer._replace(**changes)


PATH_PLACEHOLDERS = ("agent", "team", "open", "changed")
"""Names that a path may have in braces."""


LIMITED_FIELDS = ("title", "text", "files", "tags")
"""The fields of a memory that may have a limit."""


RESERVED = {"L6": "the id L6 is reserved"}
"""Layer ids that can't be used, with the reason."""


def in_scope(layers: Sequence[Layer], scope: str | None) -> tuple[Layer, ...]:
    """The layers that a scope such as `L3,L4` names, and the required ones; all for None.

    Raises `ContextasmError` for an unknown layer, and for a layer that starts from one outside the scope.
    """
    if scope is None:
        return tuple(layers)
    all_ids = [layer.id for layer in layers]
    named_ids = {layer_id(name.strip(), all_ids, "--scope") for name in scope.split(",")}
    selected = [layer for layer in layers if layer.limits.required or layer.id in named_ids]
    selected_ids = {layer.id for layer in selected}
    for layer in selected:
        for start in layer.query.start_from:
            if start not in selected_ids:
                raise ContextasmError("--scope", f"{layer.id} starts from {start}", f"name {start} too")
    return with_freed_rooms(layers, selected)


def with_freed_rooms(layers: Iterable[Layer], present: Iterable[Layer]) -> tuple[Layer, ...]:
    """The layers that are `present`; a layer that would share the room of a missing one has all of that room."""
    limits = {layer.id: layer.limits for layer in layers}
    kept = [*present]
    ids = {layer.id for layer in kept}
    return tuple(
        layer._replace(limits=_freed_limits(layer.limits, limits[layer.limits.within]))
        if layer.limits.within in limits and layer.limits.within not in ids
        else layer
        for layer in kept
    )


def _freed_limits(own: Limits, room: Limits) -> Limits:
    both = [limit for limit in (own.max_tokens, room.max_tokens) if limit is not None]
    held = own if own.reserve else room
    return room._replace(
        max_tokens=min(both, default=None),
        grow=own.grow or room.grow,
        priority=own.priority,
        reserve=held.reserve,
        reserve_share=held.reserve_share,
        reserve_against=held.reserve_against,
    )


def with_layer_changes(profile: Profile, tables: object, where: str, *, new: bool) -> Profile:
    """A profile with the changes that a list of mappings makes to its layers; `new` allows ids it does not have.

    Raises `ContextasmError` for an unknown key or id, and for a value that a key can't have.
    """
    if tables is None:
        return profile
    if not isinstance(tables, list) or not all(isinstance(table, YamlMapping) for table in tables):
        raise ContextasmError(where, "is not a list of layers", "write one `- id: ...` for each layer")
    layers = {layer.id: layer for layer in profile.layers}
    disabled = set(profile.disabled)
    changed: set[str] = set()
    for table in tables:
        name = layer_id(table.get("id"), layers if not new else None, f"{table.where('id')}: id")
        if name in changed:
            raise ContextasmError(table.where("id"), f"{name} is changed twice", "keep one of them")
        changed.add(name)
        layer = layers[name] = _changed_layer(table, layers.get(name, Layer(name)))
        if ENABLED in table:
            disabled = disabled - {name} if table[ENABLED] else disabled | {name}
        earlier = [*layers][: [*layers].index(name)]
        for key, others in (("start_from", layer.query.start_from), ("reserve_against", layer.limits.reserve_against)):
            for other in others:
                values.require_known(other, earlier, f"{table.where(key)}: {key}", "earlier layer")
        _check_within(layer, {other: layers[other] for other in earlier}, table)
    _check_shares(layers.values(), where)
    return profile._replace(layers=tuple(layers.values()), disabled=tuple(sorted(disabled)))


def _check_within(layer: Layer, earlier: Mapping[str, Layer], table: YamlMapping) -> None:
    limits, where = layer.limits, f"{table.where('within')}: within"
    for key in ("reserve_share", "reserve_against"):
        if getattr(limits, key) and not limits.reserve:
            raise ContextasmError(table.where(key), f"{layer.id} has no reserve", "add `reserve:`")
    if not limits.within:
        if "leaves" in table:
            raise ContextasmError(table.where("leaves"), f"{layer.id} shares no tokens", "remove it, or add `within:`")
        return
    host = earlier[values.require_known(limits.within, [*earlier], where, "earlier layer")]
    if host.limits.required or host.limits.within:
        raise ContextasmError(where, f"{host.id} has no limit of its own to share", "name a layer with its own limit")
    if limits.required or limits.reserve_against:
        raise ContextasmError(where, f"{layer.id} is inside another layer", "remove `required` and `reserve_against`")
    other = next((other.id for other in earlier.values() if other.limits.within == host.id), "")
    if other:
        raise ContextasmError(where, f"{other} is already within {host.id}", "name another layer")


def _check_shares(layers: Iterable[Layer], where: str) -> None:
    shares = {layer.id: layer.limits.share for layer in layers if layer.limits.share}
    total = sum(shares.values())
    if total > 100:
        listed = ", ".join(f"{name} {share:g}" for name, share in shares.items())
        what = f"the values of `share` add up to {total:g} per cent ({listed})"
        raise ContextasmError(where, what, f"reduce their sum by {total - 100:g}")


def layer_id(value: object, allowed: Iterable[str] | None, where: str) -> str:
    """The id of a layer. Raises `ContextasmError` for another value, or one that is not in `allowed`, if given."""
    key = values.parse_name("" if value is None else value, where)
    if key in RESERVED:
        raise ContextasmError(where, RESERVED[key], "take another id")
    if not key:
        raise ContextasmError(where, "is missing", "give the layer an id, such as L3")
    if allowed is None or key in (known := [*allowed]):
        return key
    hint = values.suggestion(key, known, "layer", 0.6) or f"choose one of: {', '.join(known)}"
    more = "" if where.startswith("--") else " (define new layers in a profile with `extends:`)"
    raise ContextasmError(where, f"unknown layer `{key}`", hint + more)


def _changed_layer(table: YamlMapping, base: Layer) -> Layer:
    parsed = table.parsed({key: parse for key, (_, _, parse) in LAYER_KEYS.items()} | {ENABLED: values.parse_flag})
    own = {key: value for key, value in parsed.items() if key != ENABLED}
    # The number for a fallback belongs to the `top` with which it was set.
    layer = with_layer_values(base, {"fallback_top": 0, **own} if "top" in own else own)
    _check_placeholders(layer, table)
    for name, _ in layer.memories.field_limits:
        values.require_known(name, LIMITED_FIELDS, f"{table.where('limits')}: limits", "field")
    if layer.limits.grow and (layer.limits.share, layer.limits.max_tokens, layer.limits.within) == (None, None, ""):
        what = f"{layer.id} has `grow`, but no `share`, `max_tokens` or `within`"
        raise ContextasmError(table.where("grow"), what, "add `share:`, `max_tokens:` or `within:`")
    if TITLE in layer.overflow.steps and not any(source.holds_memories for source in layer.query.traits):
        raise ContextasmError(
            table.where("overflow"), f"{layer.id} shows no memories", f"remove `{TITLE}` from `overflow`"
        )
    if table.get("fallback_top") and len(layer.query.sources) == 1:
        what = f"{layer.id} has one source, so it never falls back"
        raise ContextasmError(table.where("fallback_top"), what, "name two sources under `source`")
    has_no_path = not any(source.reads_files for source in layer.query.traits)
    for key in ("heading", "source", "path"):
        if not layer_value(layer, key) and not (key == "path" and has_no_path):
            such = f" such as {next(iter(SOURCE_TRAITS))} (available: {', '.join(SOURCE_TRAITS)})"
            hint = f"add `{key}:`{such * (key == 'source')}"
            raise ContextasmError(table.where(key), f"{layer.id} has no {key}", hint)
    if len(layer.heading) not in {1, len(layer.query.paths) or 1}:
        what = f"{layer.id} has {len(layer.heading)} headings for {len(layer.query.paths)} paths"
        raise ContextasmError(table.where("heading"), what, "give one heading, or one for each path")
    return layer


def _check_placeholders(layer: Layer, table: YamlMapping) -> None:
    for source in layer.query.traits:
        templates = {
            "path": (layer.query.paths, PATH_PLACEHOLDERS),
            "item": ((layer.display.item_template,), source.item_fields),
            "group": ((layer.display.group_template,), source.group_fields),
        }
        for key, (texts, allowed) in templates.items():
            for name in (name for text in texts for name in placeholders(text)):
                values.require_known(name, allowed, f"{table.where(key)}: {key}", "name in braces")
