"""Records and replay: the same bytes again, or the inputs that changed (digest rows 85 to 89, 115 to 117; law 8)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import contextasm
from contextasm.config.profiles.loader import load_profile
from contextasm.model import Build, ContextasmError, Document, Layer, Profile, TokenCounter
from contextasm.pipeline import assemble
from contextasm.records.record import BuildFacts, Chosen, Record, encode_record, make_record, parse_record
from contextasm.rendering.formats import format_context
from contextasm.rendering.json_codec import from_json, to_json
from contextasm.selection.tokens import ESTIMATE
from contextasm.workspace.recording import RecordingWorkspace, SnapshotWorkspace, changed_inputs
from tests.command import LUNA, SAMPLE, Result, ctxasm, fill, inside, refused
from tests.workspaces import DEFAULT, Content, Files, budgets, build, o200k, profiles, request, workspaces

SCHEMA = json.loads(
    (Path(contextasm.__file__).parent / "rendering" / "schemas" / "record-1.json").read_text(encoding="utf-8")
)

KNOWLEDGE = "agents/a/KNOWLEDGE.md"
TODAY = "agents/a/daily/2025-03-14.md"
OLD = "agents/a/daily/2025-01-01.md"
DRAFT = "agents/a/memories/drafts.md"

FILES: Mapping[str, str | bytes] = {
    "ctxasm.yaml": "date: 2025-03-14\n",
    KNOWLEDGE: "Known.\n",
    TODAY: "Did this.\n",
    OLD: "Long ago.\n",
    DRAFT: "---\nstatus: draft\n---\n- [fact] not yet\n",
    "agents/a/memories/bad.md": b"\xff\xff",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small workspace with every kind of answer: read, listed, absent, unreadable."""
    return fill(tmp_path, FILES)


def recorded(root: Path, *words: str) -> Path:
    before = {*records(root)}
    done = inside("build", "-w", root, "--record", *words)
    assert done.code == 0, done.err
    new = {*records(root)} - before
    assert len(new) == 1
    return new.pop()


def records(root: Path) -> list[Path]:
    return sorted((root / ".ctxasm" / "records").glob("*"))


def etag(root: Path, *words: str) -> str:
    return str(json.loads(inside("build", "-q", "-w", root, "-f", "json", *words).out)["etag"])


LIBRARIAN = load_profile("librarian", "tests", Path())

SAID = (
    '{"type": "turn", "role": "user", "text": "Look for the day."}\n',
    '{"type": "turn", "role": "assistant", "text": "It is in spring. Shall I ask Mia about the day?"}\n',
    '{"type": "tool_result", "tool": "grep", "arguments": {"word": "day"}, "output": "One.\\n\\nTwo."}\n',
)


@given(
    files=workspaces(),
    profile=st.one_of(profiles(), st.just(LIBRARIAN)),
    said=st.lists(st.sampled_from(SAID), max_size=4).map("".join),
    is_history=st.booleans(),
    budget=budgets,
    form=st.sampled_from(("markdown", "xml", "chat-openai", "chat-anthropic")),
    exact=st.booleans(),
)
def test_law_8_record_replays_to_the_same_context(
    files: Mapping[str, Content], profile: Profile, said: str, is_history: bool, budget: int, form: str, exact: bool
) -> None:
    counter: TokenCounter = o200k() if exact else ESTIMATE
    files = {**files, "tools/t.json": '[{"name": "grep"}]', "sessions/s.jsonl": "" if is_history else said}
    noted = RecordingWorkspace(Files(files))
    asked = request(budget=budget, format=form, tokenizer=counter.name, history=said if is_history else "")
    context = assemble(Build(noted, profile, asked, counter))
    own = make_record(context, BuildFacts((("ctxasm", "0"),), "", (), profile), noted)
    back = parse_record(encode_record(own)[1], "record")
    assert back == own
    again = assemble(
        Build(SnapshotWorkspace(dict(back.listings), noted.reads), back.making.profile, back.context.request, counter)
    )
    assert again == context
    assert back.context == context._replace(documents=())
    assert format_context(back.context) == format_context(context)
    assert changed_inputs(dict(back.listings), back.digests, Files(files))[0] == ()


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "workspace"])
@pytest.mark.parametrize("form", ["markdown", "xml", "json", "messages", "chat-openai", "chat-anthropic"])
def test_row_86_unchanged_inputs_reproduce_the_bytes(root: Path, form: str, stored: bool) -> None:
    fill(root, {"sessions/s.jsonl": SAID[0]})
    words = ["-p", "librarian" if form.startswith("chat") else "default", *(["--record-inputs"] if stored else [])]
    text = inside("build", "-q", "-w", root, "-f", form, "--record", *words).out
    done = inside("replay", *records(root))
    assert (done.code, done.out) == (0, text)
    assert ("the stored inputs" if stored else "the workspace") in done.err


def test_problems_of_options_are_replayed(root: Path) -> None:
    talk = json.dumps([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Hello."}]}])
    words = ("-p", "librarian", "--history", "-", "--open", "none.md")
    built = inside("build", "-w", root, "--record", *words, stdin=talk)
    assert "[not-read]" in built.err
    assert "[no-effect]" in built.err
    assert inside("replay", *records(root)).out == built.out


TALK: list[dict[str, object]] = [
    {"role": "system", "content": "Be mine."},
    {"role": "user", "content": "All of it is mine.", "private": True},
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "Still mine."}]},
]


@pytest.mark.parametrize("talk", [TALK, TALK[:2], []], ids=["some of it", "private", "empty"])
def test_record_of_a_shared_context_has_the_history_that_its_readers_may_see(
    root: Path, talk: list[dict[str, object]]
) -> None:
    words = ("-p", "librarian", "--audience", "shared")
    built = inside("build", "-w", root, *words, "--record", "--history", "-", stdin=json.dumps(talk))
    (path,) = records(root)
    assert "mine" not in path.read_text()
    assert ("Hello." in built.out) == ("Hello." in path.read_text()) == (TALK[2] in talk)
    again = inside("replay", path)
    assert (again.code, again.out) == (0, built.out)
    assert ("private parts left out" in built.err) == bool(talk)
    assert "tokens (+0);" in inside("diff", path, "-w", root).out


def test_record_of_a_history_is_whole_for_the_person(root: Path) -> None:
    inside("build", "-w", root, "-p", "librarian", "--record", "--history", "-", stdin=json.dumps(TALK))
    (path,) = records(root)
    assert "All of it is mine." in path.read_text()
    assert "Still mine." not in path.read_text()  # no event shows it


@pytest.mark.parametrize("audience", ["personal", "shared"])
def test_manifest_lists_the_history_with_the_digest_of_what_the_audience_sees(root: Path, audience: str) -> None:
    def listed(talk: list[dict[str, object]]) -> dict[str, object]:
        words = ("-q", "-w", root, "-p", "librarian", "--audience", audience, "-o", root / "o.md", "--manifest", "-")
        out = inside("build", *words, "--history", "-", stdin=json.dumps(talk)).out
        own: dict[str, object] = next(each for each in json.loads(out)["inputs"] if each["path"] == "--history")
        return own

    secret, other = [{**TALK[1], "content": "Others."}, TALK[2]], [TALK[1], {**TALK[2], "content": "Bye."}]
    assert listed(TALK[1:3]) == listed(TALK)
    assert listed(other) != listed(TALK)
    assert (listed(secret) == listed(TALK)) == (audience == "shared")


def test_row_86_through_the_real_command(root: Path) -> None:
    text = ctxasm("build", "-q", "--record", cwd=root).out
    [path] = records(root)
    assert ctxasm("replay", "-q", path.stem[:6], cwd=root / "agents") == Result(0, text, "")


def edited(path: Path) -> None:
    path.write_text("Other words.\n", encoding="utf-8")


def unreadable(path: Path) -> None:
    path.write_bytes(b"\xff\xff")


@pytest.mark.parametrize(
    ("name", "change", "kind"),
    [
        ("agents/a/IDENTITY.md", edited, "changed"),
        (KNOWLEDGE, Path.unlink, "gone"),
        (KNOWLEDGE, unreadable, "changed"),
        (TODAY, edited, "changed"),
        (TODAY, Path.unlink, "gone"),
        ("agents/a/daily/2025-03-13.md", edited, "added"),
        ("agents/a/memories/new.md", lambda path: path.write_text("- [fact] new\n"), "added"),
        ("agents/a/IDENTITY.md", Path.unlink, "gone"),
        ("agents/a/IDENTITY.md", unreadable, "changed"),
    ],
)
def test_row_86_changed_input_is_named(root: Path, name: str, change: Any, kind: str) -> None:
    path = recorded(root)
    change(root / name)
    done = inside("replay", path)
    assert (done.code, done.out) == (1, "")
    assert f"{name}: {kind}\n" in done.err
    assert "1 input changed since" in done.err


def test_file_that_was_looked_for_in_vain_is_named_when_it_is_there(root: Path) -> None:
    (root / KNOWLEDGE).unlink()
    path = recorded(root)
    (root / KNOWLEDGE).write_text("New.\n")
    assert f"{KNOWLEDGE}: added\n" in inside("replay", path).err


@pytest.mark.parametrize("name", [OLD, "agents/a/daily/2025-01-02.md"])
def test_change_without_effect_on_the_bytes_is_a_note(root: Path, name: str) -> None:
    path = recorded(root)
    edited(root / name)
    done = inside("replay", path)
    assert done.code == 0
    assert (f"note: {name}: added" in done.err) == (name != OLD)


def test_stored_inputs_are_enough(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = inside("build", "-q", "-w", root, "--record-inputs").out
    other = tmp_path_factory.mktemp("other")
    (root / ".ctxasm").rename(other / ".ctxasm")
    (root / KNOWLEDGE).unlink()
    assert inside("replay", "-q", *records(other), cwd=other) == Result(0, text, "")


def test_neither_settings_nor_profile_files_are_read_again(root: Path) -> None:
    profile = root / "mine.yaml"
    profile.write_text("extends: default\nlayers:\n  - {id: L7, heading: Known Things}\n")
    text = inside("build", "-q", "-w", root, "-p", profile, "-b", "3k", "--layer", "L5=100", "--record").out
    assert "Known Things" in text
    profile.unlink()
    (root / "ctxasm.yaml").write_text("nonsense: [")
    assert inside("replay", "-q", *records(root)) == Result(0, text, "")


def test_every_field_of_the_profile_is_in_the_record(root: Path) -> None:
    fields = json.loads(recorded(root).read_text())
    assert [{*layer} for layer in fields["profile"]["layers"]] == [{*Layer._fields}] * len(DEFAULT.layers)


def test_record_says_what_was_asked_and_what_was_answered(root: Path) -> None:
    fields = json.loads(recorded(root, "-b", "9k").read_text())
    Draft202012Validator(SCHEMA).validate(fields)
    inputs = {each["path"]: each["sha256"] for each in fields["inputs"]}
    documents = [each for each in map(Files(FILES).read, inputs) if isinstance(each, Document)]
    assert {each.path: each.digest for each in documents}.items() <= inputs.items()
    assert OLD not in inputs
    assert OLD in [path for paths in fields["listings"].values() for path in paths]
    assert [each["path"] for each in fields["unreadable"]] == ["agents/a/memories/bad.md"]
    assert {"key": "budget", "value": "9000", "origin": "--budget"} in fields["settings"]
    assert {"key": "date", "value": "2025-03-14", "origin": "ctxasm.yaml:1"} in fields["settings"]
    assert fields["etag"] == etag(root, "-b", "9k")


@pytest.mark.parametrize(
    "words", [(*LUNA[2:],), (*LUNA[2:], "--topic", "lantern"), (*LUNA[2:], "--tokenizer", "o200k_base", "-b", "2k")]
)
def test_records_of_the_sample_fit_their_schema(tmp_path: Path, words: tuple[str, ...]) -> None:
    files = {path.relative_to(SAMPLE).as_posix(): path.read_bytes() for path in SAMPLE.rglob("*.*") if path.is_file()}
    fill(tmp_path, files, base={})
    path = recorded(tmp_path, *words)
    fields = json.loads(path.read_text())
    Draft202012Validator(SCHEMA).validate(fields)
    assert inside("replay", path).code == 0
    assert bool(fields["table"]) == ("--tokenizer" in words)


def test_same_build_writes_the_same_record_once(root: Path) -> None:
    path = recorded(root)
    data, time = path.read_bytes(), path.stat().st_mtime_ns
    assert inside("build", "-q", "-w", root, "--record").code == 0
    assert records(root) == [path]
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (data, time)


def test_inputs_are_stored_once_however_many_records_name_them(root: Path) -> None:
    for budget in ("4k", "8k"):
        inside("build", "-w", root, "-b", budget, "--record-inputs")
    stored = [path.name for path in (root / ".ctxasm" / "inputs").iterdir()]
    assert len(records(root)) == 2
    assert sorted(stored) == sorted(each["sha256"] for each in json.loads(records(root)[0].read_text())["inputs"])


def test_git_is_told_to_leave_the_folder_alone(root: Path) -> None:
    recorded(root)
    ignore = root / ".ctxasm" / ".gitignore"
    assert ignore.read_text() == "*\n"
    ignore.write_text("inputs\n")
    recorded(root, "-b", "5k")
    assert ignore.read_text() == "inputs\n"


def test_records_are_for_their_owner_alone(root: Path) -> None:
    recorded(root, "--record-inputs")
    assert {(root / ".ctxasm" / name).stat().st_mode & 0o777 for name in ("records", "inputs")} == {0o700}


def test_environment_is_not_recorded(root: Path) -> None:
    inside("build", "-w", root, "--record", env={"SECRET_TOKEN": "hunter2", "CTXASM_BUDGET": "7k"})
    text = records(root)[0].read_text()
    assert "hunter2" not in text
    assert '"origin": "CTXASM_BUDGET"' in text


@pytest.mark.parametrize("words", [("--check", "-o", "X.md"), ("--strict",), ()], ids=["check", "strict", "no-record"])
def test_nothing_is_recorded_where_nothing_is_written(root: Path, words: tuple[str, ...]) -> None:
    inside("build", "-w", root, *(["--record"] if words else []), *words, cwd=root)
    assert not (root / ".ctxasm").exists()


def test_workspace_that_can_not_be_written_to_is_one_line(root: Path) -> None:
    (root / ".ctxasm").write_text("")
    refused(inside("build", "-q", "-w", root, "--record"), ".ctxasm: can't be made", "make it a folder")


def test_link_out_of_the_workspace_is_not_written_through(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (root / ".ctxasm").mkdir()
    (root / ".ctxasm" / "records").symlink_to(other)
    refused(inside("build", "-q", "-w", root, "--record"), "is a link")
    assert [*other.iterdir()] == []


def damaged(data: bytes) -> bytes:
    return data.replace(b'"budget": 16000', b'"budget": 16001', 1)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (damaged, "is damaged: its content does not match its id"),
        (lambda data: data[:100], "not valid JSON"),
        (lambda _: b"\xff\x00", "is not a record: byte 0 is not UTF-8"),
        (lambda _: b"[" * 100_000, "is not a record: nested too deeply"),
        (lambda _: b"[]", "is not a record: it has no schema"),
        (lambda data: data.replace(b"record/1", b"record/2"), "has the schema ctxasm.record/2, but this version reads"),
        (lambda _: b'{"schema": "ctxasm.manifest/1"}', "has the schema ctxasm.manifest/1"),
    ],
)
@pytest.mark.parametrize("command", ["replay", "explain", "diff"])
def test_record_that_is_none_is_refused(root: Path, command: str, damage: Any, words: str) -> None:
    path = recorded(root)
    path.write_bytes(damage(path.read_bytes()))
    refused(inside(command, path), str(path), words)


def test_record_that_names_what_is_not_known_is_refused() -> None:
    noted = RecordingWorkspace(Files({}))
    layers = (DEFAULT.layers[0]._replace(query=DEFAULT.layers[0].query._replace(sources=("crystal-ball",))),)
    profile = DEFAULT._replace(layers=layers)
    own = make_record(build({}), BuildFacts((), "", (Chosen("a", "b", "c"),), profile), noted)
    with pytest.raises(ContextasmError, match="does not know crystal-ball"):
        parse_record(encode_record(own)[1], "record.json")


def test_damaged_stored_input_is_named(root: Path) -> None:
    path = recorded(root, "--record-inputs")
    [first, *_] = sorted((root / ".ctxasm" / "inputs").iterdir())
    first.write_bytes(b"other")
    refused(inside("replay", path), first.name, "is damaged")


def test_row_89_record_reads_nothing_outside_the_workspace(root: Path) -> None:
    secret = root.parent / "secret.md"
    secret.write_text("hunter2\n")
    noted = RecordingWorkspace(Files({**{key: value for key, value in FILES.items() if key != KNOWLEDGE}}))
    layer = DEFAULT.layers[0]._replace(
        heading=("Out",), query=DEFAULT.layers[0].query._replace(paths=("../secret.md",))
    )
    profile = DEFAULT._replace(layers=(layer._replace(limits=layer.limits._replace(required=False)),))
    context = assemble(Build(noted, profile, request(), ESTIMATE))
    name, data = encode_record(make_record(context, BuildFacts((("ctxasm", "0"),), "", (), profile), noted))
    path = root / ".ctxasm" / "records" / f"{name}.json"
    fill(root, {path.relative_to(root).as_posix(): data})
    done = inside("replay", path)
    assert "hunter2" not in done.out + done.err
    assert (done.code, done.out) == (0, "")


def test_several_records_of_the_same_beginning_are_told(root: Path) -> None:
    path = recorded(root)
    (path.parent / f"{path.stem[:5]}zzz.json").write_bytes(path.read_bytes())
    refused(inside("replay", path.stem[:4], cwd=root), "matches 2 records")
    refused(inside("replay", "0123456789abcdef", cwd=root), "no such record")
    refused(inside("replay", "../../etc/passwd", cwd=root), "no such record")


def test_version_is_named_where_the_inputs_are_the_same(root: Path) -> None:
    path = recorded(root)
    own = parse_record(path.read_bytes(), "record")
    making = own.making._replace(versions=(("ctxasm", "0.0.9"),))
    path.write_bytes(encode_record(own._replace(context=own.context._replace(etag="0" * 64), making=making))[1])
    done = inside("replay", path)
    assert (done.code, done.out) == (1, "")
    assert "the inputs are the same, but ctxasm 0.0.9 wrote the record" in done.err


def test_explain_works_on_a_record(root: Path) -> None:
    table = inside("explain", "-w", root).out
    path = recorded(root)
    edited(root / KNOWLEDGE)
    done = inside("explain", path)
    assert (done.code, done.out) == (0, table)
    assert "unreadable" in done.err or "not-text" in done.err
    assert json.loads(inside("explain", path, "--json").out)["schema"] == "ctxasm.context/1"


def test_explain_tells_of_a_line_of_a_recorded_build(root: Path) -> None:
    path = recorded(root)
    line = ("explain", path, "--line", f"{KNOWLEDGE}:1")
    assert inside(*line).out == "in L7 included: it fits\n"
    edited(root / KNOWLEDGE)
    done = inside(*line)
    assert (done.code, done.out) == (1, "")
    assert f"{KNOWLEDGE}: changed" in done.err


@pytest.mark.parametrize(
    ("flag", "value"), [("--budget", "4k"), ("--layer", "L3=9"), ("--event-type", "x"), ("--var", "a=b")]
)
def test_explain_of_a_record_takes_no_request(root: Path, flag: str, value: str) -> None:
    refused(inside("explain", recorded(root), flag, value), f"{flag}: can't be used with a record")


def test_row_85_every_candidate_has_one_verdict_and_one_reason_in_the_record(root: Path) -> None:
    decisions = json.loads(recorded(root).read_text())["decisions"]
    names = [(each["layer"], each["fragment"]) for each in decisions]
    assert len({*names}) == len(names)
    assert all(each["outcome"] and each["reason"]["code"] for each in decisions)


def test_row_115_same_content_has_the_same_tag_and_one_byte_changes_it(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = fill(tmp_path_factory.mktemp("other place"), FILES)
    assert etag(root) == etag(other)
    (other / KNOWLEDGE).write_text("Known!\n")
    assert etag(root) != etag(other)


def test_row_116_known_tag_prints_nothing_and_exits_3(root: Path) -> None:
    words = ("build", "-q", "-w", root, "--record", "--if-none-match")
    assert inside(*words, etag(root)) == Result(3, "", "")
    assert not (root / ".ctxasm").exists()
    assert inside(*words, "0" * 64).code == 0


@pytest.mark.parametrize("name", [OLD, DRAFT])
def test_row_117_draft_or_log_outside_the_window_leaves_the_tag(root: Path, name: str) -> None:
    before = etag(root)
    with (root / name).open("a") as file:
        file.write("- [fact] one more\n")
    assert etag(root) == before


@pytest.mark.parametrize("value", [DEFAULT, request(), DEFAULT.layers[0], build({}).sections])
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    kind = type(value) if type(value) is not tuple else tuple[int, ...]
    assert from_json(kind, json.loads(json.dumps(to_json(kind, value))), "value") == value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"budget": "many"}, "budget"),
        ({"budget": True}, "budget"),
        ({"layers": [{}]}, r"layers\.0\."),
        ({"layers": {}}, "layers is not a list"),
        ({"colour": 1}, "colour is not known"),
    ],
)
def test_plain_values_that_fit_no_type_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        from_json(Profile, {**to_json(Profile, DEFAULT), **change}, "profile")


def test_record_is_a_value() -> None:
    noted = RecordingWorkspace(
        Files(
            {
                **{f"agents/luna/{name}.md": "x" for name in ("IDENTITY", "INSTRUCTIONS")},
                "agents/luna/daily/\udcff.md": "y",
            }
        )
    )
    context = assemble(Build(noted, DEFAULT, request(), ESTIMATE))
    own: Record = make_record(context, BuildFacts((), "", (), DEFAULT), noted)
    assert parse_record(encode_record(own)[1], "record") == own


def test_inputs_that_are_not_stored_are_told(tmp_path: Path) -> None:
    secret = "ghp_" + "R4nd0mT0kenV4lue9xYzAbCdEfGhIjKl2345"
    root = fill(tmp_path, {"agents/a/KNOWLEDGE.md": "Plain\n"})
    assert "not stored" not in inside("build", "-w", root, "--record-inputs").err
    fill(root, {"agents/a/KNOWLEDGE.md": f"The key is {secret}\n"})
    done = inside("build", "-w", root, "--record-inputs")
    line = "ctxasm: warning: --record-inputs: 1 file is not stored, because of secrets: agents/a/KNOWLEDGE.md\n"
    assert (done.code, done.err.count(line)) == (0, 1)
    assert "not stored" not in inside("build", "-w", root, "--record-inputs", "-q").err
    assert "not stored" not in inside("build", "-w", root, "--record").err
