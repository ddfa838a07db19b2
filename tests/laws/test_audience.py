"""The law of audiences: no private sentence is in a shared context, nor in anything that is written about it."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input.yaml_loader import load_yaml
from contextasm.config.profiles.layers import with_layer_values
from contextasm.model import Build, Context, Document, Profile, Workspace
from contextasm.pipeline import assemble
from contextasm.records.record import BuildFacts, encode_record, make_record
from contextasm.records.trace import trace_line
from contextasm.rendering.documents import ContextDocument, ManifestDocument, context_data, manifest_data
from contextasm.rendering.formats import FORMATS
from contextasm.rendering.json_codec import to_json
from contextasm.rendering.tables import decision_table, rule_trace_table
from contextasm.rendering.wording import problem_line, receipt
from contextasm.retrieval.reading.audience import SharedWorkspace
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.data.history import session_of_history
from contextasm.workspace.recording import RecordingWorkspace
from tests.laws.test_profiles import VARIANTS, systems
from tests.workspaces import DEFAULT, Content, Files, budgets, request

MARK = "zanzibar"
"""A word of every private sentence, and of no other."""

BLOCKS = (
    f"- [fact] {MARK} is a secret {{private=true}}",
    f"- [decision] {MARK} on two lines\n  and a second one {{importance=0.9 private=yes key=root/style}}",
    f"- a parent\n  - {MARK} below it {{private=true}}\n  - {MARK} beside that",
    f"* {MARK} {{private=perhaps pin=true tags={MARK}}}",
    f"A paragraph of {MARK}\nthat ends here. {{private=true}}",
    f"## {MARK} {{private=true}}\n\nAll of {MARK}.\n\n```\n# {MARK}\n```\n\n### Below\n{MARK}\n\n# Public again",
    f'{{"type": "error", "private": true, "message": "{MARK}"}}',
    f"```\n- never closed\n\n- {MARK} {{private=true}}",
)
FRONTS = (
    *("private: true", "Private: yes", f"title: {MARK}\nstatus: active\nprivate: true\ntags: [{MARK}]"),
    f"title: {MARK} # {{private=true}}",
)
ROWS: dict[str, Sequence[str]] = {
    "graph/entities.yaml": (
        f"  - {{name: {MARK}, type: person, private: true}}\n",
        f"  - {{name: {MARK}, type: person}}  # {{private=true}}\n",
        f"  - {{type: {MARK}, name: 'Luna {{private=true}}'}}\n",
        f"  - {{name: Open, properties: {{salary: '{MARK} {{private=true}}'}}}}\n",
    ),
    "graph/relations.yaml": (f"  - {{source: Luna, type: {MARK}, target: Kenji, private: true}}\n",),
    "patterns.yaml": (f"  - {{name: {MARK}, private: true, keywords: [harbour]}}\n",),
    "tasks.yaml": (
        f"  - {{id: t9, goal: {MARK}, parent: t1, private: true}}\ncurrent: t9\n",
        f"  - id: t9\n    goal: {MARK} {{private=true}}\n      on two lines\ncurrent: t9\n",
        f"  - id: t9 # {{private=true}}\n    goal: {MARK}\n    {MARK}: 1\n    {MARK}: 2\ncurrent: t9\n",
    ),
}
"""Private rows by the file that they end."""
PACKAGES: dict[str, Sequence[str]] = {
    "pyproject.toml": (
        f'[project]\ndependencies = [\n  "{MARK}",  # {{private=true}}\n  "open",\n]\n',
        f'[tool.poetry.dependencies]\n{MARK} = {{version = "1 {{private=true}}"}}\n',
    ),
    "Cargo.toml": (
        f'[package]\nedition = "2021"\n\n[dependencies.{MARK}] # {{private=true}}\nversion = "1"\n',
        f'[workspace.dependencies.{MARK}]\nversion = "1 {{private=true}}"\n\n[dependencies]\nopen = "1"\n',
    ),
    "go.mod": (f"module open\n\nrequire {MARK} v1 // {{private=true}}\n",),
    "package.json": (f'{{"name": "open", "scripts": {{"a": "say \\"{MARK}\\" {{private=true}}", "b": "open"}}}}\n',),
}
"""Manifests with something private."""
HISTORY = (
    f'{{"type":"turn","role":"user","content":"{MARK}","private":true}}\n'
    '{"type":"turn","role":"user","content":"Open."}\n'
    f'{{"type":"tool_result","tool":"a","output":"{MARK} {{private=true}}"}}\n'
)
ITEMS = session_of_history(
    '{"role":"user","content":"Open."}\n'
    f'{{"type":"function_call","call_id":"c","name":"{MARK}","arguments":"{{}}","private":true}}\n'
    f'{{"type":"function_call_output","call_id":"c","output":"{MARK}"}}\n',
    [],
)[0]
TARGETS = (
    *("agents/luna/KNOWLEDGE.md", "agents/luna/IDENTITY.md", "agents/luna/memories/a.md", "agents/luna/memories/b.md"),
    *("agents/luna/daily/2025-03-13.md", "teams/writers/GOALS.md", "teams/writers/memories/a.md", "PROJECT.md"),
    *("knowledge/a.md", "knowledge/b/c.md", "threads/t.md", "memories/drawn.md", "docs/d.md", "MEMORY.md", "SOUL.md"),
    *("sessions/s1.jsonl", "AGENTS.md"),
)


class Drawn(NamedTuple):
    """A workspace with private sentences, and a profile."""

    files: dict[str, Content]
    profile: Profile


@st.composite
def with_private_parts(draw: st.DrawFn) -> Drawn:
    """Private blocks, files, rows and layers, with copies of what a private layer reads."""
    files = draw(systems())
    profile = draw(st.sampled_from([DEFAULT, *VARIANTS.values()]))
    for path in draw(st.lists(st.sampled_from(TARGETS), min_size=1, max_size=6, unique=True)):
        old = files.get(path, "")
        public = old if isinstance(old, str) else ""
        files[path] = f"{public.rstrip()}\n\n{draw(st.sampled_from(BLOCKS))}\n"
    for path in draw(st.lists(st.sampled_from(TARGETS), max_size=3, unique=True)):
        files[path] = f"---\n{draw(st.sampled_from(FRONTS))}\n---\n- [fact] {MARK} of a private file\n"
    for path in draw(st.lists(st.sampled_from(sorted(ROWS)), unique=True)):
        if isinstance(rows := files.get(path), str):
            files[path] = rows + draw(st.sampled_from(ROWS[path]))
    for path in draw(st.lists(st.sampled_from(sorted(PACKAGES)), unique=True)):
        files[path] = draw(st.sampled_from(PACKAGES[path]))
    kept = draw(st.sampled_from(("strip", "keep")))
    profile = profile._replace(layers=tuple(with_layer_values(each, {"hidden": kept}) for each in profile.layers))
    if draw(st.booleans()):
        layer = draw(st.sampled_from(profile.layers))
        text = f"- [fact] {MARK} of a private layer\n"
        files["diary.md"] = text
        copies: tuple[Content, ...] = (
            text,
            text.replace("\n", "\r\n"),
            f"\ufeff{text}",
            f"---\ntitle: copy\n---\n{text}",
            text.encode("utf-16"),
        )
        for path in draw(st.lists(st.sampled_from(TARGETS), max_size=4, unique=True)):
            files[path] = draw(st.sampled_from(copies))
        paths = ("diary.md", *layer.query.paths)
        private = with_layer_values(layer, {"private": True, "path": paths, "heading": layer.heading[:1]})
        others = tuple(each for each in profile.layers if each.id != layer.id)
        is_off = draw(st.booleans()) and all(layer.id not in each.query.start_from for each in others)
        layers = tuple(private if each.id == layer.id else each for each in profile.layers)
        profile = profile._replace(layers=others if is_off else layers, private_paths=paths if is_off else ())
    return Drawn(files, profile)


def assembled(drawn: Drawn, workspace: Workspace, **asked: Any) -> Context:
    wanted = request(open=("docs/d.md", "graph/entities.yaml", "tasks.yaml"), additional="And this.", **asked)
    return assemble(
        Build(
            workspace,
            drawn.profile,
            wanted,
            ESTIMATE,
            parse_yaml=load_yaml,
            summarizer=lambda text: text[: len(text) // 2],
        )
    )


def outputs(drawn: Drawn, context: Context, recording: RecordingWorkspace) -> Iterator[str]:
    yield from (write(context) for _, write in FORMATS.values())
    for kind, data in ((ContextDocument, context_data), (ManifestDocument, manifest_data)):
        yield json.dumps(to_json(kind, data(context)), ensure_ascii=False)
    yield from (str(decision_table(context.decisions, every=every)) for every in (False, True))
    yield from map(problem_line, context.problems)
    yield receipt(context) + str(rule_trace_table(context.rule_traces))
    making = BuildFacts(versions=(("ctxasm", "1"),), table="", settings=(), profile=drawn.profile)
    yield encode_record(make_record(context, making, recording))[1].decode()


@given(
    with_private_parts(),
    budgets,
    st.sampled_from(("", "", "harbour", f"{MARK} secret")),
    st.sampled_from(("markdown", "xml")),
    st.sampled_from(("plain", "detailed")),
    st.sampled_from(("", HISTORY, ITEMS)),
)
def test_no_private_sentence_is_in_anything_that_is_written_of_a_shared_context(
    drawn: Drawn, budget: int, topic: str, form: str, marker: str, history: str
) -> None:
    drawn = drawn._replace(profile=drawn.profile._replace(marker=marker))
    recording = RecordingWorkspace(Files(drawn.files))
    context = assembled(drawn, recording, budget=budget, topic=topic, format=form, history=history, audience="shared")
    for text in outputs(drawn, context, recording):
        assert MARK not in text.replace(json.dumps(topic)[1:-1] or "\0", "").casefold()


@given(with_private_parts())
def test_every_private_line_of_a_read_file_is_told(drawn: Drawn) -> None:
    files = Files({path: text for path, text in drawn.files.items() if path.endswith(".md")})
    context = assembled(drawn, files, audience="shared")
    for document in context.documents:
        for gap in document.gaps:
            if gap.reason == "private":
                trace = trace_line(files, context, document.path, gap.first)
                assert not trace.shown
                assert re.search("it is private|days old|dated after", trace.reason)


@given(systems(), budgets, st.sampled_from(("", "harbour")))
def test_an_audience_changes_nothing_where_nothing_is_private(
    files: dict[str, Content], budget: int, topic: str
) -> None:
    drawn = Drawn(files, DEFAULT)
    contexts = [
        assembled(drawn, Files(files), budget=budget, topic=topic, audience=name) for name in ("personal", "shared")
    ]
    assert contexts[0].text == contexts[1].text
    assert contexts[0].decisions == contexts[1].decisions
    assert contexts[0].problems == contexts[1].problems


NAMING = st.sampled_from(
    (
        *("{key}: {id}", '{key}: "m2, {id}"', "{key}: m2, {id}", "{key}: [m2, '{id}']", "{key}: [m2,\n  {id}]"),
        *("{key}:\n  - m2\n  - {id}", "{key}:\n- m2\n- '{id}'  ", "{key}: >\n  m2 {id}", "{key}: m2 # {id}"),
    )
)


@given(NAMING, st.sampled_from(("supersedes", "superseded_by")), st.sampled_from(("", "~2")))
def test_no_form_of_front_matter_shows_the_id_of_a_private_memory(form: str, key: str, number: str) -> None:
    named = form.format(key=key, id=f"{MARK}-1{number}")
    twice = f"- [fact] First {{private=true id={MARK}-1}}\n- [fact] Second {{private=true id={MARK}-1}}\n"
    files = Files({"m/a.md": twice, "m/b.md": f"---\ntype: fact\n{named}\nid: m3\n---\nOpen\n"})
    document = SharedWorkspace(files, (), load_yaml).read("m/b.md")
    assert isinstance(document, Document)
    assert MARK not in document.whole + str(document.front)
    assert document.front["id"] == "m3"
    assert document.whole.endswith("\nid: m3\n---\nOpen\n")
    assert ("m2" in document.whole) == ("m2" in form)
