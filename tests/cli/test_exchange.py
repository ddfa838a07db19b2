"""`import` and `export`: one golden case for each format, and what a person at the shell meets."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from contextasm.text.exchange.formats import IMPORT_FORMATS
from tests.command import CASES, Result, fill, inside, refused

EXCHANGE = CASES / "exchange"
INPUTS = {
    "beads": "input.jsonl",
    "claude-code": "memory",
    "claude-export": "memories.json",
    "codex": "memories",
    "hermes": "memories",
    "letta": "agent.af",
    "mem0": "input.json",
    "memory-server": "input.jsonl",
    "openclaw": "MEMORY.md",
    "jsonl": "input.jsonl",
}
TOKEN = "ghp_" + "Zk3vQ9xT1mB7cR5nW2pL8sD4fG6hJ0aE9uYi"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """One agent, without memories."""
    return fill(tmp_path / "w", {})


def run(workspace: Path, *words: str | Path, stdin: str | None = None) -> Result:
    return inside(*words, "-w", workspace, "-a", "a", stdin=stdin)


def export(workspace: Path, *words: str | Path) -> Result:
    return inside("export", *words, "-w", workspace, "-a", "a")


def imported(workspace: Path, name: str) -> str:
    return (workspace / f"agents/a/memories/imported-{name}.md").read_text(encoding="utf-8")


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but those of ctxasm itself."""
    paths = (path for path in folder.rglob("*") if path.is_file() and ".ctxasm" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_each_format_has_a_case() -> None:
    assert INPUTS.keys() == IMPORT_FORMATS.keys()


@pytest.mark.parametrize("name", INPUTS)
def test_import_gives_the_golden_file_and_a_second_one_changes_nothing(workspace: Path, name: str) -> None:
    path = EXCHANGE / name / INPUTS[name]
    first = run(workspace, "import", name, path)
    assert (first.code, first.err) == (0, "")
    assert imported(workspace, name) == (EXCHANGE / name / "expected.md").read_text(encoding="utf-8")
    before = files(workspace)
    second = run(workspace, "import", name, path, "--update")
    assert second.out.startswith("0 added; ")
    assert files(workspace) == before


@pytest.mark.parametrize("name", INPUTS)
def test_imported_memories_are_exported_and_imported_again_as_they_are(
    workspace: Path, tmp_path: Path, name: str
) -> None:
    assert run(workspace, "import", name, EXCHANGE / name / INPUTS[name]).code == 0
    out = tmp_path / "out.jsonl"
    assert export(workspace, "--audience", "personal", "-o", out).code == 0
    other = fill(tmp_path / "other", {})
    assert run(other, "import", "jsonl", out).code == 0
    assert imported(other, "jsonl") == imported(workspace, name)


def test_the_receipt_counts_and_names_what_differs_and_what_is_alike(workspace: Path) -> None:
    fill(
        workspace,
        {"agents/a/memories/m.md": "- [fact] The bell rings at six {id=bell}\n- [fact] Tea is green {id=green}\n"},
    )
    lines = [
        {"id": "bell", "text": "The bell rings at seven", "importance": 0.9},
        {"id": "tea", "text": "Tea is green."},
        {"id": "new", "text": "Ropes are coiled"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    before = files(workspace)
    dry = run(workspace, "import", "jsonl", "-", "--dry-run", stdin=text)
    assert files(workspace) == before
    first = run(workspace, "import", "jsonl", "-", stdin=text)
    assert dry.out == f"would be: {first.out}"
    assert first.out.splitlines() == [
        "2 added to agents/a/memories/imported-jsonl.md; 1 left although they differ",
        "differs bell agents/a/memories/m.md:1: text, importance (--update applies it)",
        "added tea agents/a/memories/imported-jsonl.md:1: says the same as green",
    ]
    second = run(workspace, "import", "jsonl", "-", "--update", "--json", stdin=text)
    data = json.loads(second.out)
    counts = {key: data[key] for key in ("schema", "dry_run", "added", "changed", "differs", "left")}
    assert counts == {
        "schema": "ctxasm.imported/1", "dry_run": False, "added": 0, "changed": 1, "differs": 0, "left": 2
    }  # fmt: skip
    assert data["memories"][0] == {
        "outcome": "changed", "id": "bell", "path": "agents/a/memories/m.md", "line": 1,
        "differing": ["text", "importance"], "alike": "", "sources": ["standard input:1"],
        "digest": sha256(b"The bell rings at seven").hexdigest(),
    }  # fmt: skip
    changed = (workspace / "agents/a/memories/m.md").read_text(encoding="utf-8")
    assert changed == "- [fact] The bell rings at seven {id=bell importance=0.9}\n- [fact] Tea is green {id=green}\n"


def test_an_update_of_a_file_with_crlf_keeps_its_line_ends(workspace: Path) -> None:
    old = b"# Notes\r\n\r\n- [fact] One {id=one}\r\n  more\r\n- [fact] Two {id=two}\r\n\r\nEnd\r\n"
    fill(workspace, {"agents/a/memories/m.md": old})
    assert run(workspace, "import", "jsonl", "-", "--update", stdin='{"id": "two", "text": "Two\\nnew"}').code == 0
    new = (workspace / "agents/a/memories/m.md").read_bytes()
    assert new == old.replace(b"Two {id=two}", b"Two\r\n  new {id=two}")


def test_hidden_characters_are_removed_and_secrets_masked_and_both_are_told(workspace: Path) -> None:
    data = [{"id": "1", "memory": f"Key\u200b\u200b {TOKEN}", "categories": [TOKEN, "a\u202eb"]}]
    done = run(workspace, "import", "mem0", "-", stdin=json.dumps(data))
    assert done.code == 0
    assert imported(workspace, "mem0") == (
        "- [note] Key [masked:github-token] {id=mem0-1 tags=[masked:github-token],ab}\n"
    )
    assert TOKEN not in done.err
    assert done.err.count("\n") == 4
    assert "standard input[0]: text:1: holds 2 hidden characters at column 4" in done.err
    assert "standard input[0]: text:1: holds what looks like a secret (github-token" in done.err
    assert "standard input[0]: tags:1: holds what looks like a secret" in done.err
    again = run(workspace, "import", "mem0", "-", "--update", stdin=json.dumps(data))
    assert again.out.startswith("0 added; 1 left")


@pytest.mark.parametrize(
    ("name", "text", "where", "what"),
    [
        ("mem0", "{", "standard input:1", "not valid JSON"),
        ("mem0", "{}", "standard input: results", "is not a list"),
        ("mem0", '[{"memory": "x"}]', "standard input[0]: id", "is missing"),
        ("mem0", '[{"id": "1", "memory": 3}]', "standard input[0]: memory", "is not text"),
        (
            "mem0",
            '[{"id": "1", "memory": "x", "created_at": "soon"}]',
            "standard input[0]: created_at",
            "is not a date",
        ),
        ("mem0", "[]", "-", "holds no memory"),
        ("memory-server", '{"type": "entity"}', "standard input:1: name", "is missing"),
        ("memory-server", '\n{"type": "x"}', "standard input:2: type", "neither entity nor relation"),
        (
            "memory-server",
            '{"type": "entity", "name": "A", "observations": [""]}',
            "standard input:1: observations[0]",
            "is not text, or is empty",
        ),
        ("claude-export", '[{"chat_messages": []}]', "standard input: [0]", "has neither conversations_memory"),
        ("claude-export", '{"conversations_memory": 1}', "standard input: conversations_memory", "is not text"),
        ("claude-code", "---\nname: [\n---\nx\n", "standard input:3", "not valid YAML"),
        ("openclaw", "<!-- observed: soon -->\n- x\n", "standard input:1: observed", "is not a date"),
        ("jsonl", '{"text": "x"}\n[1]', "standard input:2", "is not a JSON object"),
        ("jsonl", '{"text": "x"}\n{"text": "y"', "standard input:2", "not valid JSON"),
        ("jsonl", '{"text": "x", "creatd": "2025-01-01"}', "standard input:1", "did you mean created?"),
        ("jsonl", '{"text": " "}', "standard input:1: text", "is empty"),
        ("jsonl", '{"text": "x", "importance": 2}', "standard input:1: importance", "2 is not an importance"),
        ("jsonl", '{"text": "x", "tags": ["a,b"]}', "standard input:1: tags", "contains a comma"),
        ("jsonl", '{"text": "x", "id": "a\\"b"}', "standard input:1: id", "can't be written in braces"),
        ("jsonl", '{"text": "x", "id": "1"}\n{"text": "y", "id": "1"}', "standard input:2: id", "also used"),
        ("jsonl", '{"text": "x", "private": "yes"}', "standard input:1: private", "neither true nor false"),
        ("jsonl", '{"text": "\\u0000"}', "standard input:1: text", "NUL"),
        ("jsonl", "", "standard input", "is empty"),
        ("nonsense", "x", "FROM", "unknown format `nonsense`"),
    ],
)
def test_broken_input_is_one_line_that_names_its_place(
    workspace: Path, name: str, text: str, where: str, what: str
) -> None:
    before = files(workspace)
    refused(run(workspace, "import", name, "-", stdin=text), f"error: {where}: ", what)
    assert files(workspace) == before


def left_out(done: Result) -> dict[str, str]:
    """The lines of a receipt that name what is in no memory: the kind by its place."""
    lines = [line.removeprefix("left out ") for line in done.out.splitlines() if line.startswith("left out ")]
    return {line.rpartition(": ")[0]: line.rpartition(": ")[2] for line in lines}


def texts(workspace: Path) -> list[str]:
    return [json.loads(line)["text"] for line in export(workspace, "--audience", "personal").out.splitlines()]


OLD, NEW = "<!-- observed: 2025-03-01 | status: superseded -->", "<!-- observed: 2025-03-08 | status: active -->"


@pytest.mark.parametrize(
    ("comments", "expected"),
    [
        ([OLD, NEW], "created=2025-03-08 tags"),
        ([NEW, OLD], "created=2025-03-08 tags"),
        (["<!-- observed: 2025-03-09 -->", OLD.replace("01", "10")], "created=2025-03-09 tags"),
        ([NEW, NEW.replace("08", "07")], "created=2025-03-08 tags"),
        ([OLD, OLD.replace("01", "02")], "created=2025-03-02 status=superseded tags"),
        ([OLD, OLD.replace("superseded", "draft")], "created=2025-03-01 status=draft tags"),
        ([OLD, ""], "tags"),
    ],
)
def test_of_two_states_of_an_entry_the_one_that_holds_is_taken_and_the_other_told(
    tmp_path: Path, comments: list[str], expected: str
) -> None:
    entries = [f"{comment}\n- Call her Hana\n" for comment in comments]
    fill(tmp_path / "one", {"MEMORY.md": "# People\n\n" + "\n# People\n".join(entries)}, base={})
    fill(
        tmp_path / "two",
        {"MEMORY.md": f"# People\n{entries[0]}", "USER.md": f"# People\n{entries[1]}"},
        base={},
    )
    for name in ("one", "two"):
        root = fill(tmp_path / f"w-{name}", {})
        done = run(root, "import", "openclaw", tmp_path / name)
        assert done.out.startswith("1 added")
        assert f" {expected}=People}}" in imported(root, "openclaw")
        assert [what.partition(" at ")[0] for what in left_out(done).values()] == ["other state of the entry"]
        assert run(root, "import", "openclaw", tmp_path / name).out.startswith("0 added; 1 left as they are\n")


def test_an_entry_that_is_there_again_is_taken_once(workspace: Path) -> None:
    done = run(workspace, "import", "openclaw", "-", stdin="- One\n- Two\n- One\n")
    assert done.out == "2 added to agents/a/memories/imported-openclaw.md\n"


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("- [DB](db.md) - always use port 5433", "DB - always use port 5433"),
        ("- [DB](db.md): port 5433\n  and [user](<user.md>)", "DB: port 5433\nand user"),
        ("- See [DB](db.md)", "See DB"),
        ("- [Guide](https://host/guide.md)", "[Guide](https://host/guide.md)"),
        ("- [Code](db.py)", "[Code](db.py)"),
        ("- [DB](db.md)", ""),
        ("- [DB](./db.md#ports), [user](user.md).", ""),
        ("- [DB](db.md)\n  - [user](user.md)", ""),
    ],
)
def test_an_entry_of_the_index_is_left_out_if_it_is_links_to_files_alone(
    workspace: Path, tmp_path: Path, entry: str, text: str
) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text(f"{entry}\n- Tea is green\n")
    done = run(workspace, "import", "claude-code", path)
    assert texts(workspace) == [*([text] if text else []), "Tea is green"]
    assert left_out(done) == ({} if text else {f"{path}:1": f"link to a file{', and 1 more' * entry.count(chr(10))}"})


@pytest.mark.parametrize("name", ["claude-code", "claude-export", "openclaw"])
def test_rules_are_no_memories(workspace: Path, name: str) -> None:
    text = "One\n---\n- two\n---\n\n* * *\n___\nThree\n - - -\n```\n---\n```\n- four\n  ```\n---\n  ```\n"
    given = json.dumps({"conversations_memory": text}) if name == "claude-export" else text
    done = run(workspace, "import", name, "-", stdin=given)
    assert texts(workspace) == ["One", "two", "Three", "```\n---\n```", "four\n```\n---\n```"]
    assert done.out.splitlines()[1:] == [
        f"left out {done.out.split('left out ')[1].rsplit(':', 1)[0]}: rule, and 4 more"
    ]


@pytest.mark.parametrize("name", ["claude-code", "openclaw"])
def test_a_file_may_begin_with_a_rule(workspace: Path, tmp_path: Path, name: str) -> None:
    folder = fill(tmp_path / "memory", {"MEMORY.md": "---\n\n- One\n", "USER.md": "- Two\n"}, base={})
    done = run(workspace, "import", name, folder)
    assert texts(workspace) == ["One", "Two"]
    assert left_out(done) == {f"{folder}/MEMORY.md:1": "rule"}


def test_front_matter_of_no_known_key_is_text(workspace: Path) -> None:
    run(workspace, "import", "claude-code", "-", stdin="---\nPorts: 5433\nare: in: use\n---\n- One\n")
    assert texts(workspace) == ["Ports: 5433\nare: in: use", "One"]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("mem0", '{"results": [{"id": "1", "memory": "x", "metadata": {"a": 1}, "hash": ""}], "relations": [1]}',
         {"": "key relations", ": results[0]": "key metadata"}),
        ("mem0", '[{"id": "1", "memory": "x", "categories": "food"}]', {"[0]": "key categories"}),
        ("memory-server", '{"type": "entity", "name": "A", "entityType": "[a]", "observations": ["x"], "more": 1}',
         {":1": "key entityType", ":1 ": "key more"}),
        ("claude-export", '{"conversations_memory": "# A\\n# B\\nx\\n\\n**C**\\n", "account_uuid": "1"}',
         {": conversations_memory: line 1": "heading with nothing below it", "": "key account_uuid"}),
        ("openclaw", "---\na: b\n---\nx <!-- y -->\n# E\n<!-- observed: 2025-03-01 -->\n<!-- observed: 2025-03-02 -->",
         {":1": "key a", ":4": "comment", ":6": "comment without an entry after it, and 1 more",
          ":5": "heading with nothing below it"}),
        ("claude-code", "---\nname: a\ndescription: d\ntype: '[t]'\nmetadata:\n  id: 1\n---\nx\n",
         {"": "key description", " ": "key type", ": metadata": "key id"}),
    ],
)  # fmt: skip
def test_what_is_in_no_memory_is_told(workspace: Path, name: str, text: str, told: dict[str, str]) -> None:
    done = run(workspace, "import", name, "-", stdin=text)
    lines = [line for line in done.out.splitlines() if line.startswith("left out ")]
    assert sorted(lines) == sorted(f"left out standard input{place.strip()}: {what}" for place, what in told.items())
    data = json.loads(run(workspace, "import", name, "-", "--json", stdin=text).out)
    assert {part["what"] for part in data["left_out"]} == {what.removesuffix(", and 1 more") for what in told.values()}


def test_a_bold_line_with_nothing_below_it_is_a_memory(workspace: Path) -> None:
    run(workspace, "import", "openclaw", "-", stdin="**Never push on Friday.**\n\n**People**\n\n- Hana\n")
    assert texts(workspace) == ["**Never push on Friday.**", "Hana"]
    assert "tags=People" in imported(workspace, "openclaw")


def test_an_empty_file_of_a_folder_stops_nothing(workspace: Path, tmp_path: Path) -> None:
    folder = fill(tmp_path / "memory", {"MEMORY.md": "- One\n", "a.md": "", "b.md": " \n"}, base={})
    assert run(workspace, "import", "claude-code", folder).out.startswith("1 added")
    (folder / "MEMORY.md").write_text("")
    refused(run(workspace, "import", "claude-code", folder), "MEMORY.md: is empty")


LONG = "x" * 100_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mem0", json.dumps([{"id": "1", "memory": "x", "created_at": LONG}])),
        ("memory-server", json.dumps({"type": LONG})),
        ("openclaw", f"<!-- observed: {LONG} -->\n- x\n"),
        ("jsonl", json.dumps({"text": "x", "created": LONG})),
        ("jsonl", json.dumps({"text": "x", "importance": LONG})),
        ("jsonl", json.dumps({"text": "x", "importance": [LONG]})),
        ("jsonl", json.dumps({"text": "x", "tags": [f"{LONG},"]})),
        ("jsonl", json.dumps({"text": "x", "type": f"{LONG[:900]}]"})),
        ("jsonl", json.dumps({"text": "x", "key": f"{LONG[:900]}}}"})),
    ],
)
def test_an_error_quotes_the_beginning_of_a_long_value(workspace: Path, name: str, text: str) -> None:
    done = run(workspace, "import", name, "-", stdin=text)
    refused(done, "...")
    assert len(done.err) < 300


def test_a_key_that_is_not_read_is_one_short_line(workspace: Path) -> None:
    data = [{"id": "1", "memory": "x", "a\n9 added to b": 1, TOKEN: 1, LONG: 1}]
    done = run(workspace, "import", "mem0", "-", stdin=json.dumps(data))
    assert done.out.splitlines()[1:] == [
        "left out standard input[0]: key a 9 added to b",
        "left out standard input[0]: key [masked:github-token]",
        f"left out standard input[0]: key {LONG[:80]}",
    ]


def test_no_part_of_a_secret_is_left_where_a_quote_is_cut(workspace: Path) -> None:
    long = f"{'x' * 60} {TOKEN}"
    error = run(
        workspace, "import", "mem0", "-", stdin=json.dumps([{"id": "1", "memory": "x", "created_at": long}])
    ).err
    done = run(workspace, "import", "mem0", "-", stdin=json.dumps([{"id": "1", "memory": "x", long: 1}])).out
    assert TOKEN[:8] not in error + done


def test_files_that_cannot_be_read_are_refused(workspace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    refused(run(workspace, "import", "claude-code", folder), "has no file *.md")
    refused(run(workspace, "import", "mem0", folder), "is a folder", "name the file in it")
    refused(run(workspace, "import", "jsonl", tmp_path / "none"), "No such file")
    refused(run(workspace, "import", "jsonl", "/dev/zero"), "is a device")
    (tmp_path / "latin").write_bytes(b'{"text": "\xe4"}')
    refused(run(workspace, "import", "jsonl", tmp_path / "latin"), "byte 10 is not UTF-8")


def test_an_entry_that_would_not_be_read_back_is_refused(workspace: Path) -> None:
    fill(workspace, {"agents/a/memories/one.md": "---\ntype: fact\n---\nAll of it.\n"})
    before = files(workspace)
    words = ("import", "jsonl", "-", "--file", str(workspace / "agents/a/memories/one.md"))
    refused(run(workspace, *words, stdin='{"text": "x"}'), "standard input:1", "would not read it as one memory")
    assert files(workspace) == before


PRIVATE = {
    "agents/a/memories/m.md": "- [fact] Open {id=open}\n- [fact] Closed {id=closed private=true}\n",
    "agents/a/memories/p.md": "---\nprivate: true\n---\n- [fact] Hidden away\n",
    "agents/a/memories/old.md": "- [fact] Replaced {id=old status=superseded}\n",
}


@pytest.mark.parametrize("form", ["jsonl", "okf"])
def test_private_memories_leave_for_a_personal_audience_alone(workspace: Path, tmp_path: Path, form: str) -> None:
    fill(workspace, {**PRIVATE, "ctxasm.yaml": "profile: default\n"})
    out, personal = tmp_path / "out", tmp_path / "personal"
    shared = inside("export", "-f", form, "-o", out, "-w", workspace, "-a", "a", env={"CTXASM_AUDIENCE": "personal"})
    assert shared.err == (
        "ctxasm: exported 2 memories of agents/a; left out 2 private memories (--audience personal exports them)\n"
    )
    everything = export(workspace, "-f", form, "-o", personal, "--audience", "personal")
    assert everything.err == "ctxasm: exported 4 memories of agents/a\n"
    texts = [
        b"".join(path.read_bytes() for path in ([folder] if folder.is_file() else sorted(folder.iterdir())))
        for folder in (out, personal)
    ]
    assert [b"Closed" in text or b"closed" in text or b"Hidden" in text for text in texts] == [False, True]
    assert [b"Replaced" in text for text in texts] == [True, True]


def test_a_private_layer_of_the_profile_is_not_exported(workspace: Path) -> None:
    layer = "- id: own\n  heading: M\n  source: recent\n  path: agents/{agent}/memories/*.md\n  private: true\n"
    profile = f"extends: default\nlayers:\n{layer}"
    fill(workspace, {**PRIVATE, "ctxasm.yaml": "profile: mine.yaml\n", "mine.yaml": profile})
    assert export(workspace).out == ""


def test_a_bundle_in_the_folder_of_memories_is_read_as_the_same_memories(workspace: Path, tmp_path: Path) -> None:
    assert run(workspace, "import", "jsonl", EXCHANGE / "jsonl/input.jsonl").code == 0
    bundle = tmp_path / "bundle"
    assert export(workspace, "-f", "okf", "-o", bundle, "--audience", "personal").code == 0
    concept = (bundle / "harbor-date-old.md").read_text(encoding="utf-8")
    assert concept == (EXCHANGE / "okf/expected.md").read_text(encoding="utf-8")
    other = fill(tmp_path / "other", {})
    bundle.rename(other / "agents/a/memories")
    fields = (
        "id",
        "text",
        "type",
        "created",
        "accessed",
        "importance",
        "key",
        "tags",
        "supersedes",
        "private",
        "expires",
    )
    exports = [export(folder, "--audience", "personal").out.splitlines() for folder in (workspace, other)]
    one, two = ({json.loads(line)["id"]: json.loads(line) for line in lines} for lines in exports)
    assert [[memory.get(key) for key in fields] for _, memory in sorted(one.items())] == [
        [memory.get(key) for key in fields] for _, memory in sorted(two.items())
    ]
    assert two["harbor-date-old"]["status"] == "deprecated"


def test_an_export_overwrites_nothing_that_is_read(workspace: Path, tmp_path: Path) -> None:
    fill(workspace, PRIVATE)
    before = files(workspace)
    refused(export(workspace, "-o", workspace / "agents/a/memories/m.md"), "-o", "as a source of the context")
    refused(export(workspace, "-o", workspace / "ctxasm.yaml"), "-o", "is for settings")
    refused(export(workspace, "-f", "okf", "-o", workspace / "agents"), "is a folder with files in it")
    refused(export(workspace, "-f", "okf"), "--format okf", "name a new folder with -o DIR")
    refused(export(workspace, "-f", "okf", "-o", tmp_path / "no/such"), "can't be written")
    assert files(workspace) == before
    assert not [path for path in tmp_path.iterdir() if path.name != "w"]


def test_an_export_to_a_file_needs_no_more_than_one_to_standard_output(workspace: Path, tmp_path: Path) -> None:
    fill(workspace, PRIVATE, base={})
    fill(workspace, {"agents/b/IDENTITY.md": "B\n", "teams/t/GOALS.md": "G\n", "teams/t/memories/m.md": "- One\n"})
    (workspace / "agents/a/INSTRUCTIONS.md").unlink()
    for owner in (("-a", "a"), ("-t", "t")):
        out = tmp_path / f"{owner[1]}.jsonl"
        assert inside("export", "-w", workspace, *owner, "-o", out).code == 0
        assert inside("export", "-w", workspace, *owner).out == out.read_text(encoding="utf-8") != ""


def test_an_export_lacks_no_file_silently(workspace: Path) -> None:
    fill(workspace, {**PRIVATE, "agents/a/memories/z.md": b"\xff\xfe\xff"})
    refused(export(workspace), "agents/a/memories/z.md")


def test_large_imports_take_one_pass(workspace: Path) -> None:
    text = "".join(f'{{"id": "x{number}", "text": "Lantern {number} is lit"}}\n' for number in range(6_000))
    done = run(workspace, "import", "jsonl", "-", "--json", stdin=text)
    data = json.loads(done.out)
    assert (data["added"], data["memories"][-1]["line"]) == (6_000, 6_000)
    changed = text.replace("is lit", "is out")
    again = run(workspace, "import", "jsonl", "-", "--update", "-q", stdin=changed)
    assert (again.code, again.out) == (0, "")
    assert imported(workspace, "jsonl").count("is out") == 6_000


PRIVATE_FILES = {
    "claude-code": "---\nname: p\ntype: user\nprivate: true\n---\nMy diagnosis is XYZ.\n",
    "claude-code notes": "---\nprivate: yes\n---\n- My diagnosis is XYZ.\n",
    "claude-code metadata": "---\nname: p\nmetadata:\n  type: user\n  private: true\n---\nMy diagnosis is XYZ.\n",
    "openclaw": "---\nprivate: true\n---\n- My diagnosis is XYZ.\n",
    "openclaw, odd flag": "---\nPrivate: of course\n---\nMy diagnosis is XYZ.\n",
    "openclaw, never closed": "---\nprivate: true\n\n- My diagnosis is XYZ.\n",
    "mem0": '[{"id": "1", "memory": "My diagnosis is XYZ.", "private": true}]',
    "mem0 metadata": '[{"id": "1", "memory": "My diagnosis is XYZ.", "metadata": {"private": true}}]',
}


@pytest.mark.parametrize("case", PRIVATE_FILES)
def test_memories_of_a_private_file_are_stored_private(workspace: Path, tmp_path: Path, case: str) -> None:
    source = case.partition(",")[0].partition(" ")[0]
    path = tmp_path / ("MEMORY.md" if source != "mem0" else "m.json")
    path.write_text(PRIVATE_FILES[case], encoding="utf-8")
    assert run(workspace, "import", source, path).code == 0
    assert "XYZ" in imported(workspace, source)
    assert "XYZ" not in export(workspace).out
    assert "XYZ" in export(workspace, "--audience", "personal").out
    assert "XYZ" not in run(workspace, "build", "--audience", "shared").out


def test_an_imported_memory_has_the_fields_of_its_files_front_matter(workspace: Path, tmp_path: Path) -> None:
    front = "---\nid: one\nimportance: high\ntags: [home, money]\ncreated: 2026-02-03\nprivate: no\n---\n"
    (tmp_path / "MEMORY.md").write_text(
        f"{front}## Rent\n\n- One\n\n<!-- observed: 2026-04-05 -->\n- Two\n", encoding="utf-8"
    )
    assert run(workspace, "import", "openclaw", tmp_path / "MEMORY.md").code == 0
    one, two = map(json.loads, export(workspace).out.splitlines())
    assert (one["importance"], one["tags"], one["created"]) == (0.75, ["home", "money", "Rent"], "2026-02-03")
    assert (two["importance"], two["created"]) == (0.75, "2026-04-05")
    assert one["id"] != two["id"]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"m.md": "".join(f"- m{n} {{private=true}}\n" for n in range(5)) + "- pub\n"}, "5 private memories"),
        ({"m.md": "---\nprivate: true\n---\n- One\n- Two\n", "n.md": "- pub\n"}, "2 private memories"),
        ({"m.md": "- pub\n\n## Own {private=true}\n\n- One\n"}, "1 private memory ("),
    ],
)
def test_an_export_tells_the_number_of_private_memories(workspace: Path, files: dict[str, str], told: str) -> None:
    fill(workspace, {f"agents/a/memories/{name}": text for name, text in files.items()})
    result = export(workspace)
    assert f"exported 1 memory of agents/a; left out {told}" in result.err


@pytest.mark.parametrize("name", ["index.md", "log.md"])
def test_a_file_whose_name_is_for_lists_takes_no_memories(workspace: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "j.jsonl").write_text('{"text": "One"}\n', encoding="utf-8")
    file = f"agents/a/memories/{name}"
    for words in (("import", "jsonl", tmp_path / "j.jsonl"), ("remember", "One")):
        result = run(workspace, *words, "--file", workspace / file)
        assert result.code == 2
        assert f"{file} has a name for lists of files or changes, so no memories are read from it" in result.err


def test_an_empty_path_is_named(workspace: Path) -> None:
    assert "PATH: is empty: give a value" in run(workspace, "import", "jsonl", "").err


@pytest.mark.parametrize("words", [("jsonl",), ("jsonl", "--update"), ("jsonl", "--file", "agents/a/memories/x.md")])
def test_an_import_brings_back_no_memory_that_tidy_has_archived(workspace: Path, words: tuple[str, ...]) -> None:
    place = [workspace / words[-1]] if "--file" in words else []
    arguments: list[str | Path] = [words[0], "-", *(words[1:-1] if place else words[1:]), *place]
    lines = '{"id": "x1", "text": "The pier is closed"}\n{"id": "x2", "text": "The market is open"}\n'
    assert run(workspace, "import", *arguments, stdin=lines).out.startswith("2 added to")
    assert inside("memory", "deprecate", "x1", "-w", workspace).code == 0
    assert inside("tidy", "--apply", "--all", "-w", workspace).code == 0
    before = files(workspace)
    told = run(workspace, "import", *arguments, stdin=lines)
    assert told.out == "0 added; 1 left as they are; 1 left in the archive\n"
    assert files(workspace) == before
    (entry, _) = json.loads(run(workspace, "import", *arguments, "--json", stdin=lines).out)["memories"]
    assert (entry["outcome"], entry["path"]) == ("archived", "agents/a/memories/archive/")
    inside("tidy", "--undo", "-w", workspace)
    assert run(workspace, "import", *arguments, stdin=lines).out.startswith("0 added; ")


@pytest.mark.parametrize("source", ["claude-code", "openclaw"])
def test_an_import_of_a_folder_reads_nothing_outside_of_it(workspace: Path, tmp_path: Path, source: str) -> None:
    fill(tmp_path, {"elsewhere/secret.md": "- Nobody else reads this\n", "in/real.txt": "- Here\n"}, base={})
    link = tmp_path / "in" / "MEMORY.md"
    link.symlink_to(tmp_path / "elsewhere" / "secret.md")
    refused(run(workspace, "import", source, tmp_path / "in"), "is a link to a file outside the folder", str(link))
    assert run(workspace, "import", source, link).code == 0  # named by the person
    link.unlink()
    link.symlink_to("real.txt")
    assert run(workspace, "import", source, tmp_path / "in").code == 0


def test_an_unknown_status_is_told(workspace: Path) -> None:
    lines = '{"text": "The pier is closed", "status": "actve"}\n{"text": "The market is open", "status": "draft"}\n'
    told = run(workspace, "import", "jsonl", "-", stdin=lines)
    assert told.out.startswith("2 added to")
    assert told.err == (
        "ctxasm: warning: standard input:1: its status `actve` is unknown, so it is never shown; did you mean"
        " active? [bad-memory]\n"
    )


@pytest.mark.parametrize("front", ["private: true", "status: archived"])
def test_a_list_that_states_a_field_for_all_is_refused_with_that_reason(workspace: Path, front: str) -> None:
    place = "agents/a/memories/x.md"
    before = files(fill(workspace, {place: f"---\n{front}\n---\n- Here\n"}, base={}))
    result = run(workspace, "import", "jsonl", "-", "--file", workspace / place, stdin='{"text": "New"}\n')
    refused(result, f"all memories of {place} have {front}, as its front matter says", "name another --file")
    assert files(workspace) == before
