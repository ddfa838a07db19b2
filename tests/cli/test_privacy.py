"""Secrets and hidden characters on their way through the program: no output shows them, and no edit loses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import fill, inside

TOKEN = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
PASSWORD = "q7Zp" + "4Kw9"
AGENT = {"agents/a/IDENTITY.md": "I am a.\n", "agents/a/INSTRUCTIONS.md": "Do it.\n"}
MEMORIES = "agents/a/memories/2025-03.md"
DAY = ("--date", "2025-03-14")


def secret_workspace(folder: Path) -> Path:
    """One with a token or a password in every kind of file that the default profile reads, and in its settings."""
    fill(
        folder,
        {
            **AGENT,
            "ctxasm.yaml": f"# {TOKEN}\nbudget: 4000\n",
            "agents/a/KNOWLEDGE.md": f"The key of the robot is {TOKEN}, says Ann.\n",
            "agents/a/daily/2025-03-14.md": f"## Deploy\nWe use postgres://bot:{PASSWORD}@db.corp.io/app for now.\n",
            MEMORIES: f"- [fact] The deploy token is {TOKEN} {{importance=0.9}}\n- [fact] Tea at four.\n",
        },
    )
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("build",),
        ("build", "-f", "json"),
        ("build", "-f", "xml"),
        ("build", "-f", "messages"),
        ("build", "-v", "--explain"),
        ("build", "--manifest", "-", "-o", "out.md"),
        ("build", "-b", "90"),
        ("build", "--topic", f"what is {TOKEN}"),
        ("build", "--topic", f"what is {TOKEN}", "-f", "json"),
        ("explain", "-v"),
        ("explain", "--json"),
        ("explain", "--line", f"{MEMORIES}:1"),
        ("plan", "--json"),
        ("search", "deploy token"),
        ("search", "deploy token", "--json"),
        ("check",),
        ("check", "--format", "json"),
        ("check", "--format", "sarif"),
        ("check", "--format", "github"),
        ("config",),
        ("diff", "@1k", "@90", "--text"),
        ("build", "--agent", TOKEN),
        ("show", TOKEN),
        ("explain", "--line", f"{TOKEN}.md:1"),
        ("build", "--profile", TOKEN),
    ],
)
def test_row_107_a_planted_secret_is_in_no_output(tmp_path: Path, words: tuple[str, ...]) -> None:
    """P27: a planted credential is in no stream, JSON, explanation or error; the words around it stay."""
    done = inside(*words, cwd=secret_workspace(tmp_path))
    for stream in (done.out, done.err, *(path.read_text() for path in tmp_path.glob("out.md"))):
        assert TOKEN[4:12] not in stream
        assert PASSWORD not in stream


def test_row_107_a_planted_secret_is_in_no_state(tmp_path: Path) -> None:
    """P27: neither in a record nor in the index of a large pool."""
    workspace, cache = tmp_path / "workspace", tmp_path / "cache"
    workspace.mkdir()
    secret_workspace(workspace)
    many = "".join(f"- [fact] Fact number {number} of the deploy.\n" for number in range(1200))
    (workspace / "agents/a/memories/2025-02.md").write_text(many)
    for words in ((), ("--record",)):
        line = ("build", *DAY, "--topic", "deploy token", *words)
        assert inside(*line, cwd=workspace, env={"XDG_CACHE_HOME": str(cache)}).code == 0
    state = [path for folder in (workspace / ".ctxasm", cache) for path in folder.rglob("*") if path.is_file()]
    assert {"records", "memories"} <= {path.parent.name for path in state}
    assert not [path for path in state if TOKEN.encode() in path.read_bytes() or PASSWORD.encode() in path.read_bytes()]


def test_words_around_a_secret_stay_and_the_receipt_counts_the_masks(tmp_path: Path) -> None:
    secret_workspace(tmp_path)
    done = inside("build", *DAY, cwd=tmp_path)
    assert "The key of the robot is [masked:github-token], says Ann." in done.out
    assert "We use postgres://bot:[masked:url-password]@db.corp.io/app for now." in done.out
    assert "3 secrets masked (github-token 2, url-password)" in done.err
    assert json.loads(inside("build", *DAY, "-f", "json", cwd=tmp_path).out)["masked"] == {
        "github-token": 2,
        "url-password": 1,
    }


def test_drop_leaves_out_what_holds_a_secret(tmp_path: Path) -> None:
    secret_workspace(tmp_path)
    (tmp_path / "agents/a/IDENTITY.md").write_text(f"I am a, and my key is {TOKEN}.\n")
    done = inside("build", *DAY, "--privacy", "drop", cwd=tmp_path)
    assert "my key is [masked:github-token]." in done.out
    assert "Tea at four." in done.out
    assert not [words for words in ("robot", "postgres", "deploy token") if words in done.out]
    reasons = inside("explain", *DAY, "--privacy", "drop", "-v", cwd=tmp_path).out
    assert reasons.count("holds a secret") == 3


def test_off_shows_secrets(tmp_path: Path) -> None:
    secret_workspace(tmp_path)
    assert inside("build", *DAY, "--privacy", "off", cwd=tmp_path).out.count(TOKEN) == 2
    assert inside("build", *DAY, cwd=tmp_path, env={"CTXASM_PRIVACY": "off"}).out.count(TOKEN) == 2
    (tmp_path / "ctxasm.yaml").write_text("privacy: off\n")
    assert inside("build", *DAY, cwd=tmp_path).out.count(TOKEN) == 2


def test_a_key_of_several_lines_is_one_mask_and_lines_keep_their_numbers(tmp_path: Path) -> None:
    label = "RSA PRIVATE " + "KEY"
    body = "\n".join("MIIEowIBAAKCAQEA7bq9Zt3Yk2vWmX8sLr4Nc6Hd1Jf5Gp0"[:40] for _ in range(5))
    fill(
        tmp_path,
        {**AGENT, "agents/a/KNOWLEDGE.md": f"Above.\n-----BEGIN {label}-----\n{body}\n-----END {label}-----\nBelow.\n"},
    )
    assert "Above.\n[masked:private-key]\nBelow.\n" in inside("build", *DAY, cwd=tmp_path).out
    place = "agents/a/KNOWLEDGE.md"
    assert "is part of a secret" in inside("explain", *DAY, "--line", f"{place}:4", cwd=tmp_path).out
    assert inside("explain", *DAY, "--line", f"{place}:9", cwd=tmp_path).out.startswith("in L7")


def test_a_value_that_an_escape_spells_is_cleaned(tmp_path: Path) -> None:
    event = json.dumps({"type": "turn", "content": {"role": "user", "text": "a\u202eb \u001b[2J " + TOKEN}})
    tasks = f'tasks:\n  - id: t1\n    goal: "ship \\u202e {TOKEN}"\n'
    fill(tmp_path, {**AGENT, "sessions/s.jsonl": event + "\n", "tasks.yaml": tasks})
    done = inside("build", "-p", "query", *DAY, cwd=tmp_path)
    shown = done.out + done.err + inside("task", "show", cwd=tmp_path).out
    assert "ab" in shown
    assert not {"\u202e", "\u001b"} & {*shown}
    assert TOKEN not in shown


NOISE = st.text(st.sampled_from("ab \u200b\u202e\ufe0f\x07\U000e0041é"), max_size=6)


@given(before=NOISE, inside_line=NOISE, after=NOISE, secret=st.sampled_from(["", TOKEN]))
def test_an_edit_changes_no_byte_outside_its_own_lines(
    tmp_path_factory: pytest.TempPathFactory, before: str, inside_line: str, after: str, secret: str
) -> None:
    folder = tmp_path_factory.mktemp("edit")
    lines = [
        f"Prose {before}{secret}.",
        f"- [fact] The kettle {inside_line} {secret} is red.",
        f"- [note] x{after}{secret}",
    ]
    old = "".join(f"{line}\n" for line in lines)
    fill(folder, {**AGENT, MEMORIES: old})
    assert inside("remember", "-a", "a", "Tea at four.", *DAY, cwd=folder).code == 0
    assert (folder / MEMORIES).read_bytes().startswith(old.encode())
    assert inside("build", "--touch", *DAY, cwd=folder).code == 0
    touched = (folder / MEMORIES).read_bytes().decode().splitlines()[: len(old.splitlines())]
    assert [line.partition(" {")[0] for line in touched] == [line.rstrip() for line in old.splitlines()]


def test_memories_that_differ_in_a_secret_are_two(tmp_path: Path) -> None:
    fill(tmp_path, {**AGENT, MEMORIES: f"- [fact] The deploy token is {TOKEN}\n"})
    other = TOKEN[:4] + TOKEN[:3:-1]
    done = inside("remember", "-a", "a", f"The deploy token is {other}", *DAY, cwd=tmp_path)
    assert done.out.startswith("stored"), done.out
    assert inside("remember", "-a", "a", f"The deploy token is {TOKEN}", *DAY, cwd=tmp_path).out.startswith(
        "reinforced"
    )
    assert (tmp_path / MEMORIES).read_text().count(TOKEN) == 1


def test_text_to_store_is_rid_of_what_nobody_sees_and_a_secret_in_it_is_told(tmp_path: Path) -> None:
    fill(tmp_path, AGENT)
    done = inside("remember", "-a", "a", f"Tea\u202e at \u200bfour {TOKEN}", *DAY, cwd=tmp_path)
    assert "2 hidden" not in done.err
    assert done.err.count("hidden-text") == 2
    assert "[secret]" in done.err
    assert TOKEN not in done.out + done.err
    assert f"Tea at four {TOKEN}" in (tmp_path / MEMORIES).read_text()


def test_a_task_with_a_secret_keeps_it(tmp_path: Path) -> None:
    fill(tmp_path, {**AGENT, "tasks.yaml": f"# mine\ntasks:\n  - id: t1\n    goal: rotate {TOKEN}\n"})
    done = inside("task", "push", "next", cwd=tmp_path)
    assert done.code == 0, done.err
    text = (tmp_path / "tasks.yaml").read_text()
    assert text.count(TOKEN) == 1
    assert text.startswith("# mine\n")
    assert TOKEN not in done.out + inside("task", cwd=tmp_path).out


@pytest.mark.parametrize("name", [f"{TOKEN}.md", "a\x1b[2Jb.md", "a\u202eb.md", "a\nb.md", "a\u200bb.md"])
def test_a_file_whose_name_hides_something_is_told_and_not_read(tmp_path: Path, name: str) -> None:
    """P20 and P27: a name is input, too; it is shown with escapes and masks."""
    fill(tmp_path, {**AGENT, "knowledge/ok.md": "Nothing.\n", f"agents/a/memories/{name}": "- [fact] Tea at four.\n"})
    done = inside("build", *DAY, "-f", "json", "--explain", cwd=tmp_path)
    assert done.code == 0
    assert "[bad-name]" in done.err
    assert "Tea at four" not in done.out
    assert not {"\x1b", "\u202e", "\u200b"} & {*done.out, *done.err}
    assert TOKEN[4:12] not in done.out + done.err
    check = inside("check", cwd=tmp_path)
    assert TOKEN[4:12] not in check.out + check.err


@pytest.mark.parametrize("name", ["caf\u00e9.md", "\u65e5\u8a18.md", "a b.md", "x\u2764\ufe0f.md"])
def test_a_file_of_any_script_is_read(tmp_path: Path, name: str) -> None:
    fill(tmp_path, {**AGENT, f"agents/a/memories/{name}": "- [fact] Tea at four.\n"})
    assert "Tea at four" in inside("build", *DAY, cwd=tmp_path).out


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("ctxasm.yaml", 'layers:\n  - {id: L7, heading: "Know\\e[2Jledge"}\n'),
        ("ctxasm.yaml", 'layers:\n  - {id: L7, heading: "Know\u202eledge"}\n'),
        ("rules/r.yaml", '- name: "a\\u200bb"\n  then: {exclude: [x.md]}\n'),
    ],
)
def test_a_setting_with_a_hidden_character_is_refused(tmp_path: Path, file: str, text: str) -> None:
    """P20: with its place; nobody meant it, and a heading of it would reach the model."""
    fill(tmp_path, {**AGENT, "agents/a/KNOWLEDGE.md": "x\n", file: text})
    done = inside("build", *DAY, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert f"{file}:" in done.err
    assert "hidden character" in done.err


def test_a_heading_with_a_secret_is_masked(tmp_path: Path) -> None:
    """P27: settings are text of a file as well."""
    settings = f"layers:\n  - {{id: L7, heading: {TOKEN}}}\n"
    fill(tmp_path, {**AGENT, "agents/a/KNOWLEDGE.md": "x\n", "ctxasm.yaml": settings})
    assert "## [masked:github-token]\nx" in inside("build", *DAY, cwd=tmp_path).out


def test_recorded_inputs_lack_files_with_secrets(tmp_path: Path) -> None:
    """P27: a stored copy would be one more place to clean; the replay reads the file itself."""
    secret_workspace(tmp_path)
    assert inside("build", *DAY, "--record-inputs", cwd=tmp_path).code == 0
    stored = [path.read_bytes() for path in (tmp_path / ".ctxasm/inputs").iterdir()]
    assert stored
    assert not [data for data in stored if TOKEN.encode() in data or PASSWORD.encode() in data]
    (record,) = (tmp_path / ".ctxasm/records").iterdir()
    assert inside("replay", record, cwd=tmp_path).code == 0


def test_a_baseline_accepts_one_secret_and_not_the_next(tmp_path: Path) -> None:
    fill(tmp_path, {**AGENT, "agents/a/KNOWLEDGE.md": f"Key {TOKEN}.\n"})
    assert inside("check", "--baseline", "b.json", "--update-baseline", cwd=tmp_path).code == 0
    assert TOKEN[4:12] not in (tmp_path / "b.json").read_text()
    assert inside("check", "--baseline", "b.json", cwd=tmp_path).code == 0
    other = TOKEN[:4] + TOKEN[:3:-1]
    (tmp_path / "agents/a/KNOWLEDGE.md").write_text(f"Key {other}.\n")
    assert inside("check", "--baseline", "b.json", cwd=tmp_path).code == 1


def test_long_front_matter_costs_its_file(tmp_path: Path) -> None:
    """P17: sixty-four thousand characters are enough for anybody."""
    fill(tmp_path, {**AGENT, "agents/a/KNOWLEDGE.md": f"---\nkey: {'x' * 70_000}\n---\nText.\n"})
    done = inside("build", *DAY, cwd=tmp_path)
    assert done.code == 0
    assert "[too-large]" in done.err


def test_drop_reaches_what_a_rule_includes_and_spares_what_only_shows_a_mask(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {
            **AGENT,
            "docs/key.md": f"The pinned key is {TOKEN}.\n",
            "rules/r.yaml": "- name: pin\n  then: {always_include: [docs/key.md]}\n",
            "agents/a/KNOWLEDGE.md": "We write [masked:github-token] in our papers.\n",
        },
    )
    done = inside("build", *DAY, "--privacy", "drop", cwd=tmp_path)
    assert "pinned key" not in done.out
    assert "in our papers" in done.out


@pytest.mark.parametrize("unit", ["<x>\n", "<!-- a\n", "    ```x\n", "- ```x\n", "~~~~\nx\n```\n", "a <!-- b\n"])
def test_openings_without_an_end_cost_no_more_than_their_number(tmp_path: Path, unit: str) -> None:
    fill(tmp_path, {**AGENT, "agents/a/KNOWLEDGE.md": unit * 12_000 + "```\nend\n"})
    assert inside("build", *DAY, "-q", "--audience", "shared", cwd=tmp_path).code == 0


def test_a_secret_that_a_comment_divides_is_masked_when_the_comment_goes(tmp_path: Path) -> None:
    """P27: `comments: strip` put the halves together behind the masking."""
    settings = "layers:\n  - {id: L7, comments: strip}\n"
    text = f"Key {TOKEN[:20]}<!-- -->{TOKEN[20:]}.\n"
    fill(tmp_path, {**AGENT, "ctxasm.yaml": settings, "agents/a/KNOWLEDGE.md": text})
    done = inside("build", *DAY, cwd=tmp_path)
    assert "Key [masked:github-token]." in done.out


@pytest.mark.parametrize("option", ["--topic", "--additional", "--exclude", "--prefer"])
def test_a_record_holds_no_secret_of_the_command_line(tmp_path: Path, option: str) -> None:
    """P27: what was typed is recorded as it is used, masked."""
    fill(tmp_path, AGENT)
    assert inside("build", *DAY, "-p", "query", option, f"my key {TOKEN}", "--record", cwd=tmp_path).code == 0
    (record,) = (tmp_path / ".ctxasm/records").iterdir()
    assert TOKEN[4:12] not in record.read_text()


def test_a_task_with_a_secret_is_warned_of(tmp_path: Path) -> None:
    fill(tmp_path, AGENT)
    assert "[secret]" in inside("task", "push", f"rotate {TOKEN}", cwd=tmp_path).err
