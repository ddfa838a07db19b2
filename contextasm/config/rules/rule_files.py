"""Rule files: YAML, checked once, becomes `Rule` values.

Nothing is guessed and nothing is dropped: anything that is not understood ends the run, with file, line, rule and the
nearest name. Layers that rules name by a source or a heading are resolved for the profile in use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from math import prod

from contextasm.config.input import values
from contextasm.config.input.settings import document_at
from contextasm.config.input.yaml_loader import YamlMapping, load_config, parse_mapping, parse_sequence
from contextasm.config.profiles.loader import load_profile, shipped
from contextasm.config.rules.facts import FIELDS
from contextasm.model import (
    SOURCE_TRAITS,
    Condition,
    ContextasmError,
    Effect,
    Layer,
    Profile,
    Rule,
    Target,
    Workspace,
)
from contextasm.rules.evaluate import ALIASES, EFFECTS, MOST_WEIGHT, OPERATORS, number_or_day
from contextasm.text.names.places import PROFILE_FILES, RULE_FILES
from contextasm.workspace.folder import Folder

LONGEST_PATTERN = 1000
"""Characters of a regular expression."""

LARGEST_PATTERN = 200_000
"""Characters, repetitions written out: `regex` unrolls `(a{1000}){1000}` as it compiles, where no time limit holds."""

_COUNT = r"(\)?)\{(\d+)"
_VERBOSE = r"(?<!\\)(?:\\\\)*\(\?[\w-]*x"
_REPEATED_REPETITION = r"(?<!\\)\((?:\?:)?(?:\\?[^\\()|\[\]]|\[\^?\]?[^\]]*\])(?:[*+]|\{\d*,\})\)(?:[*+]|\{\d*,\})"
"""A group that is repeated without limit and holds nothing but a repetition: `(a+)+`, which says no more than `a+`."""


def parse_pattern(value: object, where: str) -> str:
    """A regular expression that compiles, and that does so in a short time."""
    import regex

    pattern = values.parse_scalar(value, where)
    if len(pattern) > LONGEST_PATTERN:
        raise ContextasmError(where, f"the pattern has {len(pattern)} characters", f"use at most {LONGEST_PATTERN}")
    if re.search(_VERBOSE, pattern):
        raise ContextasmError(where, "the pattern has the flag `x`", "remove the flag, and blanks and comments with it")
    if re.search(_REPEATED_REPETITION, pattern):
        hint = "remove the inner `+` or `*`, because such a search can take for ever"
        raise ContextasmError(where, "the pattern repeats a repetition", hint)
    if _unrolled_length(pattern) > LARGEST_PATTERN:
        raise ContextasmError(where, "the pattern repeats too often", "reduce its counts")
    try:
        regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        hint = "correct it; write backslashes in single quotes"
        raise ContextasmError(where, f"the pattern is not valid: {error}", hint) from error
    return pattern


def _unrolled_length(pattern: str) -> int:
    """The most characters that the pattern can have with its repetitions written out: groups may be nested."""
    counts = [(closing, max(1, int(count))) for closing, count in re.findall(_COUNT, pattern)]
    groups = prod(count for closing, count in counts if closing)
    return len(pattern) * groups * max((count for closing, count in counts if not closing), default=1)


WRITABLE = tuple(op for op in (*OPERATORS, *ALIASES) if op != "any_word")
"""The values of `op`; `any_word` is only the operator of `task_contains`."""

RULE_KEYS = ("name", "priority", "enabled", "when", "then")
CONDITION_KEYS = ("field", "op", "value", "task_contains")

_HEADING = r"(.+?\.\w+)#(.*)"
_ROOTED = r"[/\\]|~/|[A-Za-z]:"


def load_rules(workspace: Workspace, file: YamlMapping) -> tuple[Rule, ...]:
    """The rules of `rules/*.yaml`, in file-name order, and those under `rules` in the workspace's config.

    Raises `ContextasmError` for a file that can't be read and for anything in it that is not understood.
    """
    env = values.parse_texts(file.get("env", []), f"{file.where('env')}: env")
    rules: list[Rule] = []
    for path in workspace.list(RULE_FILES):
        if document := document_at(workspace, path, "replace it with a readable file, or remove it from rules/"):
            rules += _rules_of_file(document.data, path, env)
    if "rules" in file:
        rules += parse_rules(file["rules"], file.path, env, file.lines["rules"])
    refuse_twins(rules)
    return tuple(rules)


@lru_cache(maxsize=16)
def _rules_of_file(data: bytes, path: str, env: Sequence[str]) -> tuple[Rule, ...]:
    # By content, for the next build of the process.
    return parse_rules(load_config(data, path), path, env)


def parse_rules(data: object, path: str, env: Collection[str] = (), line: int = 1) -> tuple[Rule, ...]:
    """The rules of one file, whose data begins at `line`: a list of them, a single one, or nothing.

    `env` names the environment variables that conditions may use. Raises `ContextasmError` for anything that is not
    understood.
    """
    if data is None:
        return ()
    if isinstance(data, YamlMapping):
        rules: tuple[Rule, ...] = (_rule(data, path, data.line, 1, env),)
    else:
        items = parse_sequence(data, f"{path}:{line}")
        numbered = enumerate(zip(items, items.lines, strict=True), 1)
        rules = tuple(_rule(item, path, item_line, number, env) for number, (item, item_line) in numbered)
    refuse_twins(rules)
    return rules


def refuse_twins(rules: Iterable[Rule]) -> None:
    """Raise `ContextasmError` for a rule whose name is taken: records and messages know a rule only by its name."""
    by_name: dict[str, Rule] = {}
    for rule in rules:
        first = by_name.setdefault(rule.name, rule)
        if first is not rule:
            what = f"rule `{rule.name}`: the rule at {first.path}:{first.line} has the same name"
            raise ContextasmError(f"{rule.path}:{rule.line}", what, "give each rule its own name")


def _items(mapping: YamlMapping, key: str) -> list[tuple[object, str]]:
    """The items of the list under a key, each with its `FILE:LINE`."""
    items = parse_sequence(mapping[key], mapping.where(key))
    return [(item, f"{mapping.path}:{line}") for item, line in zip(items, items.lines, strict=True)]


def _mapping(value: object, where: str, known: Collection[str], kind: str = "key") -> YamlMapping:
    """A mapping of known keys."""
    mapping = parse_mapping(value, where, f"write `{kind}: value` on a line of its own")
    mapping.refuse_unknown(known, kind)
    return mapping


def _rule(value: object, path: str, line: int, number: int, env: Collection[str]) -> Rule:
    """A rule; one without a name is called after its file and its number there. Its errors name it."""
    given = value.get("name") if isinstance(value, YamlMapping) else None
    name = given if isinstance(given, str) else f"{path}#{number}"
    try:
        return _parse_rule(_mapping(value, f"{path}:{line}", RULE_KEYS), name, env)
    except ContextasmError as error:
        raise ContextasmError(f"{error.where}: rule `{name}`", error.what, error.hint) from error


def _parse_rule(parts: YamlMapping, name: str, env: Collection[str]) -> Rule:
    then = _mapping(parts["then"], parts.where("then"), EFFECTS, "action") if "then" in parts else None
    if not then:
        raise ContextasmError(parts.where(), "has no effect", f"add `then:` with any of {', '.join(EFFECTS)}")
    name = values.parse_scalar(parts.get("name", name), parts.where("name"))
    return Rule(
        name=name,
        path=parts.path,
        line=parts.line,
        priority=values.parse_number(parts.get("priority", 0), parts.where("priority")),
        enabled=values.parse_flag(parts.get("enabled", True), parts.where("enabled")),
        when=tuple(_conditions(parts, env)),
        effects=tuple(effect for action in EFFECTS if action in then for effect in _effects(then, action, name)),
    )


def _conditions(parts: YamlMapping, env: Collection[str]) -> Iterator[Condition]:
    """A list of conditions, or a single one. A rule without conditions always fires."""
    when = parts.get("when")
    if when is None or when == {}:
        return
    is_single = isinstance(when, YamlMapping)
    for item, where in [(when, parts.where("when"))] if is_single else _items(parts, "when"):
        keys = _mapping(item, where, CONDITION_KEYS)
        line = parts.lines["when"] if is_single else keys.line
        if "task_contains" not in keys:
            yield _condition(keys, where, line, env)
        elif len(keys) == 1:
            yield Condition("task.text", "any_word", _words(keys, "task_contains"), line)
        else:
            hint = "write each condition as an item of the list `when`"
            raise ContextasmError(where, "`task_contains` has other keys next to it", hint)


def _condition(keys: YamlMapping, where: str, line: int, env: Collection[str]) -> Condition:
    """A condition of `field`, `op` and `value`."""
    for key in ("field", "op"):
        if key not in keys:
            raise ContextasmError(where, f"a condition has no `{key}`", "write `{field: ..., op: ..., value: ...}`")
    field = values.parse_scalar(keys["field"], keys.where("field"))
    _check_field(field, keys.where("field"), env)
    op = values.parse_scalar(keys["op"], keys.where("op"))
    values.require_known(op, WRITABLE, keys.where("op"), "operator")
    op = ALIASES.get(op, op)
    if op in {"exists", "not_exists"}:
        if keys.get("value", True) is not True:
            hint = "leave it out; `exists` and `not_exists` are opposites"
            raise ContextasmError(keys.where("value"), f"`{op}` takes no value", hint)
        return Condition(field, op, "", line)
    if "value" not in keys:
        raise ContextasmError(where, f"`{op}` has no `value`", "add the value to compare with")
    if op in {"in", "not_in"}:
        return Condition(field, op, _words(keys, "value"), line)
    return Condition(field, op, VALUE_PARSERS.get(op, values.parse_scalar)(keys["value"], keys.where("value")), line)


def _parse_limit(value: object, where: str) -> str:
    """The limit of a comparison: a number or a day."""
    text = values.parse_scalar(value, where)
    if number_or_day(text) is None:
        raise ContextasmError(where, f"`{text}` is neither a number nor a day", "write one such as 3 or 2025-03-14")
    return text


VALUE_PARSERS: Mapping[str, Callable[[object, str], str]] = {
    "regex": parse_pattern,
    **dict.fromkeys(("gt", "gte", "lt", "lte"), _parse_limit),
}
"""Parsers of the values of operators that take no other text."""


def _check_field(field: str, where: str, env: Collection[str]) -> None:
    prefix, _, name = field.partition(".")
    if prefix == "env" and name and name not in env:
        raise ContextasmError(where, f"rules can't read `{field}`", f"list `{name}` under `env` in ctxasm.yaml")
    if not (prefix in {"env", "var"} and name):
        values.require_known(field, (*FIELDS, "env.NAME", "var.NAME"), where, "field")


def _words(mapping: YamlMapping, key: str) -> tuple[str, ...]:
    """A list of at least one word."""
    words = tuple(values.parse_scalar(word, where) for word, where in _items(mapping, key))
    if not words:
        raise ContextasmError(mapping.where(key), "the list is empty", "add a value")
    return words


def _effects(then: YamlMapping, action: str, rule: str) -> Iterator[Effect]:
    """The effects of an action, one for each layer or target that it names."""
    if EFFECTS[action].acts_on == "layer":
        parse_value, _ = VALUES[EFFECTS[action].value]
        layers = parse_mapping(then[action], then.where(action), "write `layer: value` on a line of its own")
        for layer, number in layers.items():
            yield Effect(action, Target("layer", layer), parse_value(number, layers.where(layer)), (rule,))
        return
    found: set[Target] = set()
    for item, where in _items(then, action):
        target, value = _target_and_value(item, where, action)
        if target in found:  # a slip, for a weight would count twice
            raise ContextasmError(where, f"`{target}` is listed twice", "remove one")
        found.add(target)
        yield Effect(action, target, value, (rule,))


def _target_and_value(item: object, where: str, action: str) -> tuple[Target, float]:
    """The target that an item of an action names, and its value; plain text without a value is a path."""
    kind = EFFECTS[action]
    if not kind.value:
        if isinstance(item, str):
            return _path(values.parse_scalar(item, where), where, action), 1
        return _target(_mapping(item, where, kind.targets), where, action), 1
    parse_value, hint = VALUES[kind.value]
    parts = _mapping(item, where, (*kind.targets, kind.value))
    if kind.value not in parts:
        raise ContextasmError(where, f"`{action}` has no `{kind.value}`", hint)
    value = parse_value(parts[kind.value], parts.where(kind.value))
    return _target(parts, where, action), value


def _parse_weight(value: object, where: str) -> float:
    weight = values.parse_number(value, where)
    if not 0 < weight <= MOST_WEIGHT:
        raise ContextasmError(
            where, f"the weight {weight} is out of range", f"write one above 0, up to {MOST_WEIGHT:.0f}"
        )
    return weight


ValueParser = Callable[[object, str], float]

VALUES: Mapping[str, tuple[ValueParser, str]] = {
    "weight": (_parse_weight, "add `weight: 2.0`; 1 changes nothing"),
    "tokens": (values.parse_tokens, "add `tokens: 300`"),
    "rank": (values.parse_whole, "add `rank: 1`"),
}
"""For each kind of value of effects, its parser, and what to do if it is missing next to a target."""


def _target(parts: YamlMapping, where: str, action: str) -> Target:
    """The one target that an item names."""
    kinds = [kind for kind in parts if kind in EFFECTS[action].targets]
    if len(kinds) != 1:
        what = f"one item of `{action}` has {len(kinds)} targets"
        raise ContextasmError(where, what, f"give it exactly one of {', '.join(EFFECTS[action].targets)}")
    kind = kinds[0]
    text = values.parse_scalar(parts[kind], parts.where(kind))
    if kind == "path":
        return _path(text, parts.where(kind), action)
    return Target("entity" if kind == "kg_entity" else kind, text)


def _path(path: str, where: str, action: str) -> Target:
    """A path or pattern inside the workspace; one to include may name a heading and can't be a pattern.

    A word to include without a slash or a dot is a memory's id.
    """
    heading = ""
    if action == "always_include" and not re.search(r"[/.\\]", path):
        return Target("id", path)
    if action == "always_include" and (match := re.fullmatch(_HEADING, path)):
        path, heading = match[1], match[2].strip()
        if not heading:
            raise ContextasmError(where, "the path has a `#` without a heading", "add the heading, or remove `#`")
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if re.match(_ROOTED, path) or ".." in parts or not parts:
        hint = "write it relative to the workspace, without `..`"
        raise ContextasmError(where, f"`{path}` is not in the workspace", hint)
    if action == "always_include" and ("*" in path or path.endswith("/")):
        hint = "name each file, or use `boost` for files that may be missing"
        raise ContextasmError(where, f"`{path}` names several files", hint)
    path = "/".join([*parts, "**"] if path.endswith("/") else parts)
    return Target("heading-path", path, heading) if heading else Target("path", path)


def resolve_rule_layers(rules: Iterable[Rule], profile: Profile, workspace: Folder) -> Iterator[Rule]:
    """The rules with ids of the profile's layers in place of the sources and headings that they name.

    Raises `ContextasmError` for a name that neither this nor another profile of the workspace or the package knows.
    """

    def by_id(rule: Rule, effect: Effect) -> Iterator[Effect]:
        name = effect.target.value
        where = f"{rule.path}:{rule.line}: rule `{rule.name}`: {effect.action}"
        ids = _layer_ids(name, profile.layers, where)
        if not ids and name not in {*profile.disabled, *_names_of_other_profiles(workspace)}:
            values.require_known(name, _layer_names(profile.layers), where, "layer")
        yield from (effect._replace(target=Target("layer", id_)) for id_ in ids or [name])

    for rule in rules:
        resolved = (by_id(rule, each) if each.target.kind == "layer" else [each] for each in rule.effects)
        yield rule._replace(effects=tuple(chain.from_iterable(resolved)))


def _layer_ids(name: str, layers: Sequence[Layer], where: str) -> Sequence[str]:
    """The layers of this id, else the ones that read this source, else the one under this heading; empty for none."""
    if any(layer.id == name for layer in layers):
        return [name]
    if readers := [layer.id for layer in layers if name in layer.query.sources]:
        return readers
    folded = name.casefold()
    layer = next((layer for layer in layers if folded in map(str.casefold, layer.heading)), None)
    if layer and len(layer.heading) > 1:
        what = f"`{name}` is only one of {len(layer.heading)} sections of {layer.id}"
        raise ContextasmError(where, what, f"name the whole layer, {layer.id}")
    return [layer.id] if layer else []


def _layer_names(layers: Iterable[Layer]) -> list[str]:
    """Every name that a rule may use for these layers: their ids, sources and headings."""
    return [*dict.fromkeys(name for layer in layers for name in (layer.id, *layer.query.sources, *layer.heading))]


def _names_of_other_profiles(workspace: Folder) -> set[str]:
    """The names of all sources, and of the layers of shipped profiles and of those in `profiles/`."""
    names = {*SOURCE_TRAITS}
    for name in (*shipped(), *workspace.list(PROFILE_FILES)):
        try:
            profile = load_profile(name, name, workspace.root, workspace)
        except ContextasmError:
            continue  # refused when it is used
        names |= {*_layer_names(profile.layers), *profile.disabled}
    return names
