"""Rule files: what YAML gave, checked once, becomes `Rule` values.

Nothing is guessed and nothing is dropped: what is not understood ends the run, with file, line, rule and the nearest
name. Files are found and read elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from math import prod

from contextasm.config import values
from contextasm.config.values_node import LineOf, Node
from contextasm.config.yaml_loader import YamlMapping, line_of, load_yaml
from contextasm.model import Condition, ContextasmError, Problem, Rule, Target, Workspace
from contextasm.rules.evaluate import MOST_WEIGHT
from contextasm.rules.operators import ALIASES, OPERATORS

FIELDS = ("task.text", "task.intent", "agent", "team", "date", "weekday", "git.branch", "changed")
"""Beside these, `env.NAME` for names listed in the config and `var.NAME` for what `--var` gives."""

TARGETS = {
    "always_include": ("path", "id", "tag"),
    "exclude": ("path", "tag", "type"),
    "boost": ("path", "tag", "type", "entity", "kg_entity"),
}
"""What each action may be about. `kg_entity` is another spelling of `entity`."""

LONGEST_PATTERN = 1000
"""Characters of a regular expression."""

LARGEST_PATTERN = 200_000
"""Characters, repetitions written out: `regex` unrolls `(a{1000}){1000}` as it compiles, where no time limit holds."""

WRITABLE = tuple(op for op in (*OPERATORS, *ALIASES) if op != "any_word")
"""What `op` may say; `any_word` is only for `task_contains` to mean."""

ACTIONS = (*TARGETS, "cap", "set_priority")

_COUNT = r"(\)?)\{(\d+)"
_VERBOSE = r"(?<!\\)(?:\\\\)*\(\?[\w-]*x"
_HEADING = r"(.+?\.\w+)#(.*)"
_ROOTED = r"[/\\]|~/|[A-Za-z]:"


def load_rules(workspace: Workspace, file: YamlMapping) -> tuple[Rule, ...]:
    """The rules of `rules/*.yaml`, in file-name order, and those under `rules` in the workspace's config.

    Raises `ContextasmError` for a file that can't be read and for whatever in it is not understood.
    """
    env = values.parse_texts(file.get("env", []), f"{file.where('env')}: env")
    rules: list[Rule] = []
    for path in workspace.list("rules/*.yaml"):
        document = workspace.read(path)
        if isinstance(document, Problem):
            raise ContextasmError(path, document.message, "make it a file that can be read, or take it out of rules/")
        if document:
            data = load_yaml(document.data, path)
            rules += parse_rules(data, path, partial(line_of, data), env)
    if "rules" in file:
        rules += parse_rules(file["rules"], file.path, partial(line_of, file["rules"], first=file.lines["rules"]), env)
    refuse_twins(rules)
    return tuple(rules)


def parse_rules(data: object, path: str, line_of: LineOf, env: Collection[str] = ()) -> tuple[Rule, ...]:
    """The rules of one file: a list of them, a single one, or nothing. `env` names the variables that may be asked."""
    root = Node(data, (), path, line_of)
    if data is None:
        return ()
    nodes = [root] if isinstance(data, dict) else root.items()
    rules = tuple(_rule(node, number, env) for number, node in enumerate(nodes, 1))
    refuse_twins(rules)
    return rules


def refuse_twins(rules: Iterable[Rule]) -> None:
    """Stop at a rule whose name is taken: records and messages know a rule by its name alone."""
    seen: dict[str, Rule] = {}
    for rule in rules:
        first = seen.setdefault(rule.name, rule)
        if first is not rule:
            what = f"rule `{rule.name}`: the name is taken by the rule at {first.path}:{first.line}"
            raise ContextasmError(f"{rule.path}:{rule.line}", what, "give each rule a name of its own")


def _rule(node: Node, number: int, env: Collection[str]) -> Rule:
    """One rule. One without a name goes by its file and its place there."""
    name = f"{node.path}#{number}"
    if isinstance(node.value, dict) and isinstance(node.value.get("name"), str):
        name = node.value["name"]
    node.about = f"rule `{name}`"
    parts = node.mapping("key", ("name", "priority", "enabled", "when", "then"))
    then = parts["then"].mapping("action", ACTIONS) if "then" in parts else {}
    if not then:
        node.fail("asks for nothing", f"give it `then:` with any of {', '.join(ACTIONS)}")
    boosts = list(_boosts(then))
    _each_once((each, target) for each, target, _ in boosts)
    return Rule(
        name=parts["name"].text() if "name" in parts else name,
        path=node.path,
        line=node.line,
        priority=parts["priority"].number() if "priority" in parts else 0,
        enabled=parts["enabled"].flag() if "enabled" in parts else True,
        when=tuple(_conditions(parts["when"], env)) if "when" in parts else (),
        include=_each_once(_targets(then, "always_include")),
        exclude=_each_once(_targets(then, "exclude")),
        boost=tuple((target, size) for _, target, size in boosts),
        cap=tuple((layer, each.tokens()) for layer, each in _layers(then, "cap")),
        set_priority=tuple((layer, each.whole()) for layer, each in _layers(then, "set_priority")),
    )


def _conditions(node: Node, env: Collection[str]) -> Iterator[Condition]:
    """A list of conditions, or a single one. None at all always hold."""
    if node.value is None or node.value == {}:
        return
    for each in [node] if isinstance(node.value, dict) else node.items():
        parts = each.mapping("key", ("field", "op", "value", "task_contains"))
        if "task_contains" not in parts:
            yield _condition(each, parts, env)
        elif len(parts) == 1:
            yield Condition("task.text", "any_word", _words(parts["task_contains"]), each.line)
        else:
            each.fail("`task_contains` beside other keys", "make `when` a list, one condition an item")


def _condition(node: Node, parts: dict[str, Node], env: Collection[str]) -> Condition:
    """A condition written in full."""
    for key in ("field", "op"):
        if key not in parts:
            node.fail(f"a condition without `{key}`", "write `{field: ..., op: ..., value: ...}`")
    field, op = parts["field"].text(), parts["op"].text()
    _check_field(parts["field"], field, env)
    if op not in WRITABLE:
        parts["op"].refuse("operator", op, WRITABLE)
    op = ALIASES.get(op, op)
    if op in {"exists", "not_exists"}:
        if "value" in parts and parts["value"].value is not True:
            parts["value"].fail(f"`{op}` takes no value", "leave it out; `exists` and `not_exists` are opposites")
        return Condition(field, op, "", node.line)
    if "value" not in parts:
        node.fail(f"`{op}` without `value`", "say what the field is held against")
    value = _words(parts["value"]) if op in {"in", "not_in"} else parts["value"].text()
    if op == "regex":
        _check_pattern(parts["value"])
    return Condition(field, op, value, node.line)


def _check_field(node: Node, field: str, env: Collection[str]) -> None:
    prefix, _, name = field.partition(".")
    if prefix == "env" and name and name not in env:
        node.fail(f"`{field}` is not open to rules", f"list `{name}` under `env` in the config")
    if field not in FIELDS and not (prefix in {"env", "var"} and name):
        node.refuse("field", field, (*FIELDS, "env.NAME", "var.NAME"))


def _words(node: Node) -> tuple[str, ...]:
    """A list of at least one word."""
    return tuple(each.text() for each in node.items()) or node.fail("an empty list", "nothing is in it: add a value")


def _check_pattern(node: Node) -> None:
    """Refuse a pattern that is wrong, or that would take for ever to compile."""
    import regex

    pattern = node.text()
    if len(pattern) > LONGEST_PATTERN:
        node.fail(f"a pattern of {len(pattern)} characters", f"keep it to {LONGEST_PATTERN}")
    if re.search(_VERBOSE, pattern):
        node.fail("a pattern with the flag `x`", "write it without blanks and comments")
    if _unrolled(pattern) > LARGEST_PATTERN:
        node.fail("a pattern that repeats too often", "make its counts smaller")
    try:
        regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        node.fail(f"bad pattern: {error}", "put it right; in single quotes YAML leaves a backslash alone")


def _unrolled(pattern: str) -> int:
    """At most so many characters make the pattern with its repetitions written out: groups may be nested."""
    counts = [(closing, max(1, int(count))) for closing, count in re.findall(_COUNT, pattern)]
    groups = prod(count for closing, count in counts if closing)
    return len(pattern) * groups * max((count for closing, count in counts if not closing), default=1)


def _targets(then: dict[str, Node], action: str) -> Iterator[tuple[Node, Target]]:
    """What an action is about, and where it says so: plain text means a path."""
    for node in then[action].items() if action in then else ():
        if isinstance(node.value, str):
            yield node, _path(node, action)
        else:
            yield node, _target(node, action, node.mapping("key", TARGETS[action]))


def _boosts(then: dict[str, Node]) -> Iterator[tuple[Node, Target, float]]:
    """What is boosted, and where the rule says so, and by how much."""
    for node in then["boost"].items() if "boost" in then else ():
        parts = node.mapping("key", (*TARGETS["boost"], "weight"))
        if "weight" not in parts:
            node.fail("a boost without `weight`", "add `weight: 2.0`; 1 changes nothing")
        size = parts.pop("weight")
        if not 0 < size.number() <= MOST_WEIGHT:
            size.fail(f"a weight of {size.value}", f"write a number above 0, up to {MOST_WEIGHT:.0f}")
        yield node, _target(node, "boost", parts), size.number()


def _each_once(targets: Iterable[tuple[Node, Target]]) -> tuple[Target, ...]:
    """The targets of one action. One that is named twice is a slip: a weight would count twice."""
    seen: dict[Target, Node] = {}
    for node, target in targets:
        if seen.setdefault(target, node) is not node:
            node.fail(f"`{target}` twice", "leave one out")
    return tuple(seen)


def _target(node: Node, action: str, parts: dict[str, Node]) -> Target:
    """The one target that an item names."""
    if len(parts) != 1:
        node.fail(f"{len(parts)} targets in one item of `{action}`", f"name one of {', '.join(TARGETS[action])}")
    kind, part = next(iter(parts.items()))
    return _path(part, action) if kind == "path" else Target("entity" if kind == "kg_entity" else kind, part.text())


def _path(node: Node, action: str) -> Target:
    """A path or pattern inside the workspace; one to include may name a heading and is no pattern.

    A word to include without a slash or a dot is a memory's id.
    """
    path, heading = node.text(), ""
    if action == "always_include" and not re.search(r"[/.\\]", path):
        return Target("id", path)
    if action == "always_include" and (found := re.fullmatch(_HEADING, path)):
        path, heading = found[1], found[2].strip() or node.fail("a `#` without a heading", "name it, or take `#` away")
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if re.match(_ROOTED, path) or ".." in parts or not parts:
        node.fail(f"`{path}` is not in the workspace", "write it relative to the workspace's folder, without `..`")
    if action == "always_include" and ("*" in path or path.endswith("/")):
        node.fail(f"`{path}` means many files", "name each one; what may be there goes under `boost`")
    path = "/".join([*parts, "**"] if path.endswith("/") else parts)
    return Target("heading-path", path, heading) if heading else Target("path", path)


def _layers(then: dict[str, Node], action: str) -> Iterable[tuple[str, Node]]:
    """The layers that an action names."""
    return then[action].mapping("layer").items() if action in then else ()
