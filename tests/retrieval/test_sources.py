"""What the sources find, row by row of the table of capabilities, and what they make of bad input."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contextasm.config.profiles.layers import with_layer_values
from contextasm.config.profiles.loader import load_profile
from contextasm.model import Context, ContextasmError, Layer, Overflow, Profile, Query
from contextasm.retrieval.retrieve import SOURCES
from contextasm.text.data.events import Event, event_text
from contextasm.text.data.task_stack import TaskStack, block, pop, push
from contextasm.text.names.dates import moment
from contextasm.workspace.editing.tasks import changed_task_text
from tests.command import CASES, fill, inside, refused
from tests.workspaces import Content, build, codes, section

PROFILES = CASES / "profiles"


def of(files: Mapping[str, Content], *layers: Layer, budget: int = 4000, **asked: Any) -> Context:
    """What these layers show of a workspace."""
    profile = Profile("tests", "", budget, "plain", layers)
    return build(files, profile, budget=budget, **asked)


def layer(source: str, path: str, **more: Any) -> Layer:
    """A layer of one source, with the id and the heading of the source's name."""
    values = {"source": (source,), "path": (path,), "overflow": ("drop", "truncate"), **more}
    return with_layer_values(Layer(source, (source,)), values)


def shown(context: Context, heading: str) -> list[str]:
    """The lines of a section."""
    return [line for line in section(context, heading).split("\n") if line]


def shipped(name: str) -> Profile:
    """A profile of the package."""
    return load_profile(name, "tests", Path())


ENTITIES = """
- {name: Ledger, type: service, salience: 0.5}
- {name: Mara, type: person, salience: 0.5, properties: {role: owner, since: 2024}}
- {name: Depot, type: place, salience: 0.9}
"""
RELATIONS = """
- {source: Ledger, type: feeds, target: Report, weight: 0.8}
- {source: Report, type: goes to, target: Mara, weight: 0.8}
- {source: Mara, type: keeps, target: Ledger, weight: 0.6}
- {source: Ledger, type: feeds, target: Report, weight: 0.1}
- {source: Moon, type: moves, target: Tide}
"""
GRAPH: dict[str, Content] = {"graph/entities.yaml": ENTITIES, "graph/relations.yaml": RELATIONS}
KNOWN = layer(
    "entities", "graph/entities.yaml", order="best", weights=(("named", 0.5), ("salience", 0.5)), item="{name}"
)


def joined(depth: int) -> Layer:
    """The relations of what `KNOWN` finds."""
    return layer(
        "relations",
        "graph/relations.yaml",
        start_from=("entities",),
        depth=depth,
        order="best",
        weights=(("weight", 1.0),),
    )


@pytest.mark.parametrize("name", ["coding", "writing", "research", "support"])
def test_row_43_each_strategy_changes_the_shares_its_table_names(name: str) -> None:
    plain, own = shipped("query"), dict(shipped("query").strategies)[name]
    changed = {a.id for a, b in zip(plain.layers, own.layers, strict=True) if a != b}
    assert changed <= {"recent", "semantic", "entities", "relations", "patterns"}
    assert changed
    assert sum(each.limits.share or 0 for each in own.layers) <= 100


def test_row_44_partial_override_changes_its_own_fields_only(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(
        "extends: query\nstrategies:\n  calm:\n    layers:\n      - {id: recent, max_candidates: 3}\n"
    )
    profile = load_profile("./p.yaml", "tests", tmp_path)
    base, calm = profile.layers, dict(profile.strategies)["calm"].layers
    assert [b for a, b in zip(base, calm, strict=True) if a != b] == [
        next(each for each in base if each.id == "recent")._replace(
            query=next(each for each in base if each.id == "recent").query._replace(max_candidates=3)
        )
    ]
    assert "coding" in dict(profile.strategies)


def test_row_48_shares_are_per_cents(tmp_path: Path) -> None:
    context = of({"a.md": "word " * 9000}, layer("document", "a.md", share=30.0, overflow=("truncate",)), budget=8000)
    assert context.allowances[0].limit == 2400
    for share, message in (("0.3", "0.3 may mean"), ("96", "add up to")):
        (tmp_path / "p.yaml").write_text(f"extends: query\nlayers:\n  - {{id: recent, share: {share}}}\n")
        with pytest.raises(ContextasmError, match=message):
            load_profile("./p.yaml", "tests", tmp_path)


def test_row_49_item_too_large_is_skipped_and_a_later_one_taken() -> None:
    files: dict[str, Content] = {"patterns.yaml": "- {name: %s, intent: fix, applied: 9, succeeded: 9}\n" % ("x" * 900)}
    files["patterns.yaml"] = f"{files['patterns.yaml']!s}- {{name: Small, intent: fix, applied: 9, succeeded: 1}}\n"
    context = of(files, layer("patterns", "patterns.yaml", item="{name}"), budget=60, topic="fix it")
    assert [each.outcome for each in context.decisions] == ["dropped", "included"]


def test_row_50_equal_scores_do_not_depend_on_the_order_of_the_file() -> None:
    rows = [f"- {{name: {name}, type: t, salience: 0.5}}\n" for name in "cab"]
    steady = KNOWN._replace(ranking=KNOWN.ranking._replace(order="steady"))
    texts = {of({"graph/entities.yaml": "".join(each)}, steady).text for each in (rows, rows[::-1])}
    assert len(texts) == 1


def test_row_52_named_entity_outranks_an_equal_unnamed_one() -> None:
    assert shown(of(GRAPH, KNOWN, topic="Who is Mara?"), "entities") == ["Mara", "Depot", "Ledger"]
    assert shown(of(GRAPH, KNOWN, topic="Who is Marauder?"), "entities")[0] == "Depot"


def test_row_52_pool_counts_those_that_are_not_named() -> None:
    context = of(GRAPH, KNOWN._replace(query=KNOWN.query._replace(max_candidates=1)), topic="Mara")
    assert shown(context, "entities") == ["Mara", "Depot"]
    assert [each.reason.code for each in context.decisions] == ["fits", "fits", "not-in-pool"]


def test_row_53_relations_to_a_depth_each_edge_once_and_circles_end() -> None:
    """P14: depth 0 shows none; a double is merged into the first."""
    edges = ["Ledger --[feeds]--> Report", "Mara --[keeps]--> Ledger", "Report --[goes to]--> Mara"]
    assert shown(of(GRAPH, KNOWN, joined(0), topic="Ledger"), "relations") == []
    assert shown(of(GRAPH, KNOWN, joined(1), topic="Ledger"), "relations") == edges[:2]
    context = of(GRAPH, KNOWN, joined(9), topic="Ledger")
    assert shown(context, "relations") == edges
    own = {each.lines[0]: each.reason.code for each in context.decisions if each.layer == "relations"}
    assert own == {2: "fits", 3: "fits", 4: "fits", 5: "repeated", 6: "not-reached"}
    scores = {each.lines[0]: dict(each.score).get("total") for each in context.decisions if each.layer == "relations"}
    assert (scores[2], scores[3]) == (0.8, 0.4)


def test_row_54_never_applied_patterns_come_last() -> None:
    text = "- {name: New, intent: fix}\n- {name: Poor, intent: fix, applied: 9}\n"
    text += "- {name: Good, intent: fix, applied: 8, succeeded: 8}\n- {name: Other, intent: explain}\n"
    context = of({"patterns.yaml": text}, layer("patterns", "patterns.yaml", item="{name} {tried}"), topic="a bug")
    assert shown(context, "patterns") == [
        "Good worked 8 of 8 times",
        "Poor worked 0 of 9 times",
        "New not tried yet",
    ]


def test_patterns_fit_by_the_type_of_an_entity_that_is_named() -> None:
    own = layer("patterns", "patterns.yaml", item="{name}", start_from=("entities",))
    files = {**GRAPH, "patterns.yaml": "- {name: Ask first, entities: Person}\n"}
    assert shown(of(files, KNOWN, own, topic="tell Mara"), "patterns") == ["Ask first"]
    assert shown(of(files, KNOWN, own, topic="tell nobody"), "patterns") == []


def test_a_value_of_another_kind_is_a_problem_and_its_row_is_read_without_it() -> None:
    entities = "- {name: Ledger, type: [a], salience: high, properties: none, aliases: {a: b}}\n- Mara\n"
    patterns = "- {name: Ask, applied: often, keywords: [[x]]}\n- {name: Try, applied: 1, succeeded: 5}\n"
    files: dict[str, Content] = {"graph/entities.yaml": entities, "patterns.yaml": patterns}
    context = of(files, KNOWN, layer("patterns", "patterns.yaml", item="{name}"), topic="the Ledger")
    assert {(each.path, each.line, each.message) for each in context.problems} == {
        ("graph/entities.yaml", 0, "entities: number 2 holds no `key: value`"),
        ("graph/entities.yaml", 1, "type is not a word"),
        ("graph/entities.yaml", 1, "aliases is not a list of words"),
        ("graph/entities.yaml", 1, "properties holds no `key: value`"),
        ("graph/entities.yaml", 1, "salience is high, not a number from 0 to 1"),
        ("patterns.yaml", 1, "applied is often, not a whole number"),
        ("patterns.yaml", 1, "keywords is not a list of words"),
        ("patterns.yaml", 2, "`succeeded` is 5, but `applied` is 1; it counts as 1"),
    }
    assert "Ledger" in section(context, "entities")


def test_row_56_additional_text_comes_last_and_is_counted() -> None:
    workspace = PROFILES / "query" / "workspace"
    plain = json.loads(inside("build", "-q", "-f", "json", "-w", workspace).out)
    more = json.loads(inside("build", "-q", "-f", "json", "-w", workspace, "--additional", "Mind the audit.").out)
    assert more["content"] == plain["content"] + "\n## Additional Context\nMind the audit.\n"
    assert more["tokens"] == -(-len(more["content"]) // 4) > plain["tokens"]


def test_row_57_and_59_every_part_is_listed_with_its_score_and_what_was_considered() -> None:
    built = json.loads(inside("build", "-q", "-f", "json", "-w", PROFILES / "query" / "workspace").out)
    own = [each for each in built["decisions"] if each["layer"] == "entities"]
    assert [each["outcome"] for each in own] == ["included"] * 5
    assert all(each["path"] == "graph/entities.yaml" and each["score"]["total"] <= 1 for each in own)


def test_row_58_truncated_if_and_only_if_something_was_cut_or_dropped() -> None:
    assert not of(GRAPH, KNOWN, joined(1), topic="Ledger").truncated
    assert of(GRAPH, KNOWN, joined(9), topic="Ledger", budget=15).truncated


def test_row_63_stack_keeps_one_active_chain_across_runs(tmp_path: Path) -> None:
    folder = fill(tmp_path, {})
    assert inside("task", "-w", folder).out == "no task\n"
    for words in (("push", "Ship it"), ("push", "Test it"), ("pop", "All green"), ("push", "Write notes")):
        assert inside("task", *words, "-w", folder).code == 0
    assert inside("task", "-w", folder).out == "- Ship it\n  x All green\n  > Write notes\n"
    assert inside("task", "block", "no access", "-q", "-w", folder).err == ""
    assert "> Write notes (blocked: no access)" in inside("task", "show", "-w", folder).out
    inside("task", "block", "", "-w", folder)
    inside("task", "pop", "Written", "-w", folder)
    inside("task", "pop", "Shipped", "-w", folder)
    assert inside("task", "show", "-w", folder).out == "no task\n"
    refused(inside("task", "pop", "again", "-w", folder), "no task is current")


def test_row_64_popped_task_shows_its_result_and_not_its_goal() -> None:
    out = inside("build", "-q", "-w", PROFILES / "query" / "workspace").out
    assert "- Payouts carry the order's number" in out
    assert "Trace payouts" not in out


def test_row_65_parts_of_the_stack_keep_their_shares(tmp_path: Path) -> None:
    stack = TaskStack()
    for number in range(12):
        stack = push(pop(push(stack, "side " * 30), "result " * 60), f"goal {number} " * 30)
    folder = fill(tmp_path, {"tasks.yaml": changed_task_text("", TaskStack(), stack)})
    pressure = ("--additional", "a\n" * 3000)  # lines so short that no token stays free
    built = json.loads(inside("build", "-q", "-f", "json", "-p", "query", "-b", "1000", "-w", folder, *pressure).out)
    used = {each["layer"]: each["used"] for each in built["allowances"]}
    assert used["root"] <= 50
    assert 0 < used["ancestors"] <= 150
    assert 0 < used["siblings"] <= 100
    assert built["tokens"] <= 1000
    (folder / "tasks.yaml").write_text(changed_task_text("", TaskStack(), push(TaskStack(), "Only this")))
    assert inside("build", "-q", "-p", "query", "-w", folder).out == "## Current Task\n- Only this\n"


def test_broken_task_file_is_never_overwritten(tmp_path: Path) -> None:
    text = "tasks:\n- {id: t1}\n"
    folder = fill(tmp_path, {"tasks.yaml": text})
    refused(inside("task", "push", "x", "-w", folder), "tasks.yaml:2", "no `goal`")
    assert (folder / "tasks.yaml").read_text() == text
    assert block(push(TaskStack(), "a"), "why").frames[0].reason == "why"


TIME = moment("2025-03-14T10:00:00+01:00")


@pytest.mark.parametrize(
    ("type_", "outcome", "content", "text"),
    [
        ("file_read", "", {"path": "a.py"}, "Read: a.py"),
        ("file_write", "success", {"path": "a.py"}, "Wrote: a.py [success]"),
        ("shell_exec", "exit 1", {"command": "ls", "stderr": "no\n"}, "Executed: `ls` [exit 1]\nno"),
        ("error", "", {"message": "bad", "stack": "at a\nat b"}, "Error: bad\nat a\nat b"),
        ("deploy", "", {"to": "x"}, 'deploy: {"to":"x"}'),
    ],
)
def test_row_66_event_lines(type_: str, outcome: str, content: dict[str, object], text: str) -> None:
    event = Event("s.jsonl", 1, "", type_, TIME, outcome, content, "")
    assert event_text(event) == f"[2025-03-14T09:00:00Z] {text}"


def test_an_event_keeps_its_milliseconds_and_costs_no_blanks(tmp_path: Path) -> None:
    line = '{"type": "deploy", "timestamp": "2025-03-14T08:00:00.125Z", "content": {"to": ["a", "b"], "n": 1}}\n'
    folder = fill(tmp_path, {"sessions/s.jsonl": line}, base={})
    out = inside("build", "-q", "-p", "query", "--date", "2025-03-14", "-w", folder).out
    assert '- [2025-03-14T08:00:00.125Z] deploy: {"to":["a","b"],"n":1}\n' in out


EVENTS = layer("events", "sessions/*.jsonl", item="- {text}", group="### {session}")


def test_torn_and_bad_lines_of_a_session_are_problems_and_the_rest_goes_on() -> None:
    lines = '{"type":"error","message":"one"}\nnot json\n[1]\n\n{"type":"a","timestamp":"soon"}\n{"type":"err'
    scored = of({"sessions/s.jsonl": '{"type":"a","importance":0.9}\n{"type":"b","importance":"high"}\n'}, EVENTS)
    assert [dict(decision.score)["importance"] for decision in scored.decisions] == [0.5, 0.9]
    assert [(each.code, each.line) for each in scored.problems] == [("bad-event", 2)]
    context = of({"sessions/s.jsonl": lines}, EVENTS)
    assert [(each.code, each.line) for each in context.problems] == [("bad-event", n) for n in (2, 3, 5, 6)]
    assert shown(context, "events") == ["### s", "- Error: one", "- a: {}"]


def test_session_that_goes_on_is_whole_and_others_show_highlights() -> None:
    files: dict[str, Content] = {}
    for day in range(1, 9):
        rows = [{"type": "file_read", "path": f"r{day}"}, {"type": "file_write", "path": f"w{day}"}]
        stamped = [{**each, "timestamp": f"2025-03-0{day}T10:0{n}:00"} for n, each in enumerate(rows)]
        files[f"sessions/s{day}.jsonl"] = "".join(json.dumps(each) + "\n" for each in stamped)
    latest = shown(of(files, EVENTS), "events")
    assert latest[:3] == ["### s8", "- [2025-03-08T10:00:00Z] Read: r8", "- [2025-03-08T10:01:00Z] Wrote: w8"]
    assert [line for line in latest if line[0] == "#"] == [f"### s{n}" for n in (8, 7, 6, 5, 4, 3)]
    assert not any("Read: r7" in line for line in latest)
    assert shown(of(files, EVENTS, session="s2"), "events")[:2] == ["### s2", "- [2025-03-02T10:00:00Z] Read: r2"]
    assert codes(of(files, EVENTS, session="s9")) == ["no-session"]


def test_topic_ranks_files_by_their_words_after_open_and_named_ones() -> None:
    files: dict[str, Content] = {f"docs/a{number}.md": f"Notes {number}.\n" for number in range(10)}
    files |= {"docs/payments.md": "How ledger refunds are booked.\n", "docs/refunds/x.md": "Text.\n", "src/o.py": "1\n"}
    files["docs/z.md"] = "line\n" * 200 + "A refund.\n"
    context = build(
        files, load_profile("memory", "tests", Path()), topic="ledger refunds, as in a9.md", open=("src/o.py",)
    )
    best = [line.removeprefix("### ") for line in shown(context, "Library") if line.startswith("### ")]
    assert best[:3] == ["src/o.py", "docs/a9.md", "docs/payments.md"]
    assert {*best[3:5]} == {"docs/refunds/x.md", "docs/z.md"}


def test_topic_chooses_results_of_tools_among_the_last_fifty() -> None:
    events = [{"type": "tool_result", "content": f"{'the ledger' if n == 5 else 'row'} {n}"} for n in range(30)]
    files = {"sessions/s.jsonl": "".join(f"{json.dumps(event)}\n" for event in events)}
    memory = load_profile("memory", "tests", Path())
    assert "the ledger 5" in section(build(files, memory, topic="ledger"), "Workshop")
    newest = shown(build(files, memory), "Workshop")
    assert newest[1::2] == [f"  row {n}" for n in range(20, 30)]


def test_file_is_shown_in_a_fence_that_its_text_does_not_close() -> None:
    files: dict[str, Content] = {"a.md": "# A\n\n```py\nx\n```\n", "b.py": "\n".join(f"line {n}" for n in range(99))}
    own = layer("files", "{open}", overflow=("truncate",))
    context = of(files, own, open=("a.md", "none.md"))
    assert section(context, "files") == "````markdown\n# A\n\n```py\nx\n```\n````"
    assert codes(context) == ["no-file"]
    cut = of(files, own, open=("b.py",), budget=40)
    assert section(cut, "files").startswith("```python\nline 0\n")
    assert section(cut, "files").endswith("\n```\n... [truncated]")
    assert cut.decisions[0].kept[0][0] == 1


def test_tools_of_every_common_form_are_read() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}, "n": {}}, "required": ["n"]}
    files: dict[str, Content] = {
        "tools/a.json": json.dumps([{"type": "function", "function": {"name": "find", "parameters": schema}}]),
        "tools/b.json": json.dumps({"tools": [{"name": "send_mail", "description": "Send mail.", "inputSchema": {}}]}),
        "tools/c.json": "{",
    }
    own = layer("tools", "tools/*.json", item="{name}: {text}{arguments}")
    context = of(files, own)
    assert shown(context, "tools") == ["find: no description (n, [q: string])", "send_mail: Send mail."]
    assert codes(context) == ["bad-data"]
    assert shown(of(files, own, topic="mail"), "tools") == ["send_mail: Send mail."]


def test_only_active_threads_are_shown() -> None:
    files: dict[str, Content] = {
        f"threads/{name}.md": f"---\nstatus: {status}\nupdated: {day}\n---\nAbout {name}.\n"
        for name, status, day in (("a", "active", "2025-01-01"), ("b", "active", "2025-02-01"), ("c", "closed", ""))
    }
    context = of(files, layer("threads", "threads/*.md"))
    assert section(context, "threads") == "About b.\n\nAbout a."


BRAIN = PROFILES / "brain" / "workspace"


def brain(*words: str) -> dict[str, Any]:
    """What is built of the workspace of memories under keys."""
    built: dict[str, Any] = json.loads(inside("build", "-q", "-f", "json", "-w", BRAIN, *words).out)
    return built


@pytest.mark.parametrize("budget", [200, 240, 300, 400, 1000])
def test_row_108_tiers_keep_to_their_ceilings(budget: int) -> None:
    built = brain("-b", str(budget))
    used = [each["used"] for each in built["allowances"]]
    for count, ceiling in ((3, 0.6), (4, 0.9)):
        assert sum(used[:count]) <= max(budget * ceiling, sum(used[:2]))
    # Layers are rounded up one by one; the document is counted as a whole.
    assert built["tokens"] <= budget


def test_row_109_drafts_and_deprecated_items_never_show() -> None:
    text = brain()["content"]
    assert "An idea nobody has looked at" not in text
    assert "GraphQL" not in text


def test_row_110_and_111_surest_first_under_keys_in_the_configured_order() -> None:
    text = brain()["content"]
    found = [line for line in text.split("\n") if line.startswith("## ") and line.endswith(")")]
    assert [each.partition("(")[2] for each in found] == [
        f"{key})"
        for key in (
            "root/architecture",
            "root/stack",
            "root/conventions",
            "root/implementation",
            "root/decisions",
            "root/todo",
            "team/habits",
        )
    ]
    assert text.index("signed cookies (confidence: 0.90)") < text.index("Logs are kept for 30 days (confidence: 0.85)")


EXAMPLE = """\
# Project Memory

## Architecture (root/architecture)
- JWT Authentication Pattern (confidence: 0.95)
- PostgreSQL with connection pooling (confidence: 0.92)

## Conventions (root/conventions)
- Void arrow functions must have braces (confidence: 0.98)
- Use explicit return types on all functions (confidence: 0.95)

## Implementation (root/implementation)
- User auth middleware (confidence: 0.90)
- Dashboard layout with sidebar (confidence: 0.88)
"""
"""The example of source 004 under "Schema key grouping", line by line."""


def test_row_111_the_example_of_source_004_comes_out_of_its_six_items(tmp_path: Path) -> None:
    items = re.findall(r"(?m)^(?:## .*\((.*)\)|- (.*) \(confidence: (.*)\))$", EXAMPLE)
    keys = [max(n for n, (key, *_) in enumerate(items[: at + 1]) if key) for at in range(len(items))]
    rows = [
        f"- {text} {{key={items[at][0]} confidence={sure}}}"
        for at, (_, text, sure) in zip(keys, items, strict=True)
        if text
    ]
    assert len(rows) == 6
    folder = fill(tmp_path, {"memories/items.md": "\n".join(reversed(rows)) + "\n"})
    built = inside("build", "-q", "-p", "brain", "-w", folder)
    assert (built.code, built.out) == (0, EXAMPLE)


def test_a_layer_without_a_group_to_show_keeps_its_heading(tmp_path: Path) -> None:
    written = "- Note {key=root/architecture writer=mcp}\n"
    out = inside("build", "-q", "-p", "brain", "-w", fill(tmp_path, {"memories/m.md": written})).out
    assert out.startswith("# Project Memory\n\n## Architecture and Conventions\n```notes written by a program")
    xml = inside("build", "-q", "-p", "brain", "-f", "xml", "-w", BRAIN).out
    assert '<section layer="tier1">\n## Architecture (root/architecture)\n' in xml
    assert "# Project Memory" not in xml


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"- {'x' * 200} {{tier=1 tags=a,b,c,d,e}}", []),
        (f"- {'x' * 201} {{tier=1 tags=a,b,c,d,e}}", ["over-limit"]),
        ("- x {tier=1 tags=a,b,c,d,e,f}", ["over-limit"]),
        ("- x {tier=9}", ["unknown-tier"]),
        # The marks of a heading are not counted.
        (f"---\ntype: fact\ntier: 1\n---\n# {'x' * 200}\n\nText.", []),
        (f"---\ntype: fact\ntier: 1\n---\n# {'x' * 201}\n\nText.", ["over-limit"]),
        ("- x {tier=1 key=root/code-style tags=code-style,v2}", []),
        ("- x {tier=1 key=Root/Bad}", ["bad-key"]),
        ("- x {tier=1 key=root//bad}", ["bad-key"]),
        ("- x {tier=1 key=root/bad_style}", ["bad-key"]),
        ('- x {tier=1 tags="Code,two words,code_style"}', ["bad-tag"] * 3),
    ],
)
def test_row_111_and_112_limits_of_an_item_and_forms_of_keys_and_tags(text: str, expected: list[str]) -> None:
    own = next(each for each in shipped("brain").layers if each.memories.field_limits)
    assert codes(of({"memories/m.md": f"{text}\n"}, own)) == expected


def test_row_114_brief_has_one_stack_three_decisions_five_conventions() -> None:
    brief = dict(shipped("brain").strategies)["brief"]
    own = next(each for each in brief.layers if each.memories.key_quota)
    lines = [
        f"- [{k}] {k} {n} {{key=root/{k} importance=0.{n}}}"
        for k in ("stack", "decisions", "conventions")
        for n in range(9)
    ]
    assert shown(of({"memories/m.md": "\n".join(lines)}, own), "In Brief") == [
        "- stack 8",
        *(f"- decisions {n}" for n in (8, 7, 6)),
        *(f"- conventions {n}" for n in (8, 7, 6, 5, 4)),
    ]


def test_row_115_to_117_etag_is_stable_against_drafts_and_the_day(tmp_path: Path) -> None:
    text = (BRAIN / "memories/items.md").read_text()
    files = {"ctxasm.yaml": "profile: brain\n", "PROJECT.md": (BRAIN / "PROJECT.md").read_text()}

    def tag(items: str, day: str = "2025-03-14") -> str:
        folder = fill(tmp_path, {**files, "memories/items.md": items})
        return str(json.loads(inside("build", "-q", "-f", "json", "--date", day, "-w", folder).out)["etag"])

    assert tag(text) == tag(text, "2026-01-01") == tag(text.replace("nobody has", "no one has")) == brain()["etag"]
    assert tag(text.replace("Anna", "Hanna")) != tag(text)
    assert inside("build", "-q", "--if-none-match", tag(text), "-w", tmp_path).code == 3


def test_row_118_pack_scopes() -> None:
    base = ("build", "-q", "-w", PROFILES / "pack" / "workspace")
    relevant = inside(*base, "--topic", "session cookies").out.count("(confidence")
    full = inside(*base, "--strategy", "full", "--topic", "session cookies").out.count("(confidence")
    assert (relevant < full, full) == (True, 13)
    assert inside(*base, "--strategy", "minimal").out.count("(confidence") == 5


def test_row_118_pack_shows_twenty_where_nothing_matches(tmp_path: Path) -> None:
    memories = "".join(f"- [fact] Gate {n} is green {{key=root/decisions}}\n" for n in range(25))
    base = ("-p", "pack", "-w", fill(tmp_path, {"PROJECT.md": "P\n", "memories/m.md": memories}))

    def shown(topic: str) -> int:
        return inside("build", "-q", *base, "--topic", topic).out.count("(confidence")

    assert (shown("zebra"), shown("gate"), shown("")) == (20, 15, 15)
    assert "5 fragments: after the 20 that are shown" in inside("explain", *base, "--topic", "zebra").out


def test_fallback_top_is_the_top_unless_it_is_set_and_needs_two_sources(tmp_path: Path) -> None:
    texts = {"IDENTITY": "I\n", "INSTRUCTIONS": "J\n"}
    texts["memories/m"] = "".join(f"- [fact] Gate {n}\n" for n in range(9))
    files = {f"agents/luna/{name}.md": text for name, text in texts.items()}
    base = ("build", "-q", "-a", "luna", "--topic", "zebra", "-w")

    def shown(settings: str) -> int:
        root = fill(tmp_path, {**files, "ctxasm.yaml": f"layers:\n  - {{id: L5, {settings}}}\n"})
        return inside(*base, root).out.count("- [fact]")

    assert [shown("top: 4"), shown("top: 4, fallback_top: 0"), shown("top: 4, fallback_top: 7")] == [4, 4, 7]
    root = fill(tmp_path, {"ctxasm.yaml": "layers:\n  - {id: L5, source: recent, fallback_top: 7}\n"})
    refused(inside(*base, root), "L5 has one source, so it never falls back: name two sources under `source`")


def test_row_119_item_that_names_an_open_file_ranks_higher() -> None:
    plain, own = brain()["content"], brain("--active-file", "web/session.ts")["content"]
    decisions = [text.index("One region only until summer (") - text.index("signed cookies (") for text in (plain, own)]
    assert min(decisions) > 0
    context = of(
        {"memories/m.md": "- sure {confidence=0.8}\n- names it {confidence=0.6 files=a.py}\n"},
        layer("weighed", "memories/*.md", order="steady", weights=(("confidence", 0.7), ("open", 0.3)), item="{text}"),
        open=("a.py",),
    )
    assert shown(context, "weighed") == ["names it", "sure"]


def test_row_96_only_the_layers_in_scope_are_read() -> None:
    workspace = PROFILES / "memory" / "workspace"
    words = ("build", "-q", "-f", "json", "-w", workspace, "--topic", "spring tide")
    built = json.loads(inside(*words, "--scope", "world,workshop").out)
    assert [each["layer"] for each in built["sections"]] == ["world", "workshop"]
    refused(inside(*words, "--scope", "wolrd"), "did you mean world?")
    refused(inside("build", "-w", PROFILES / "query" / "workspace", "--scope", "relations"), "starts from entities")


@pytest.mark.parametrize("source", SOURCES)
def test_law_one_every_fragment_has_one_decision(source: str) -> None:
    for folder in PROFILES.iterdir():
        root = folder / "workspace"
        files = {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}
        for pattern in ("**/*.md", "**/*.yaml", "**/*.json*", "**/*.py"):
            own = Layer(
                "x",
                ("X",),
                query=Query(sources=(source,), paths=(pattern,)),
                overflow=Overflow(steps=("drop", "truncate")),
            )
            for budget in (0, 30, 3000):
                context = of(files, own, budget=budget, topic="refund import", additional="x y z")
                names = [each.fragment for each in context.decisions]
                assert len(names) == len(set(names))
                assert context.tokens <= budget


@pytest.mark.parametrize("name", ["query", "librarian", "memory", "brain", "pack"])
def test_explain_words_every_decision_of_a_shipped_profile(name: str) -> None:
    result = inside("explain", "-w", PROFILES / name / "workspace", "--topic", "import of a refund")
    assert result.code == 0, result.err
    assert len(result.out.split("\n")) > 3
