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
MEMORIES = "agents/a/memories/2025-03.md"
DAY = ("--date", "2025-03-14")


def secret_workspace(folder: Path) -> Path:
    """One with a token or a password in every kind of file that the default profile reads, and in its settings."""
    fill(
        folder,
        {
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
        {"agents/a/KNOWLEDGE.md": f"Above.\n-----BEGIN {label}-----\n{body}\n-----END {label}-----\nBelow.\n"},
    )
    assert "Above.\n[masked:private-key]\nBelow.\n" in inside("build", *DAY, cwd=tmp_path).out
    place = "agents/a/KNOWLEDGE.md"
    assert "is part of a secret" in inside("explain", *DAY, "--line", f"{place}:4", cwd=tmp_path).out
    assert inside("explain", *DAY, "--line", f"{place}:9", cwd=tmp_path).out.startswith("in L7")


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
    fill(folder, {MEMORIES: old})
    assert inside("remember", "-a", "a", "Tea at four.", *DAY, cwd=folder).code == 0
    assert (folder / MEMORIES).read_bytes().startswith(old.encode())
    assert inside("build", "--touch", *DAY, cwd=folder).code == 0
    touched = (folder / MEMORIES).read_bytes().decode().splitlines()[: len(old.splitlines())]
    assert [line.partition(" {")[0] for line in touched] == [line.rstrip() for line in old.splitlines()]


def test_text_to_store_is_rid_of_what_nobody_sees_and_a_secret_in_it_is_told(tmp_path: Path) -> None:
    fill(tmp_path, {})
    done = inside("remember", "-a", "a", f"Tea\u202e at \u200bfour {TOKEN}", *DAY, cwd=tmp_path)
    assert "2 hidden" not in done.err
    assert done.err.count("hidden-text") == 2
    assert "[secret]" in done.err
    assert TOKEN not in done.out + done.err
    assert f"Tea at four {TOKEN}" in (tmp_path / MEMORIES).read_text()


@pytest.mark.parametrize("name", [f"{TOKEN}.md", "a\x1b[2Jb.md", "a\u202eb.md", "a\nb.md", "a\u200bb.md"])
def test_a_file_whose_name_hides_something_is_told_and_not_read(tmp_path: Path, name: str) -> None:
    """P20 and P27: a name is input, too; it is shown with escapes and masks."""
    fill(tmp_path, {"knowledge/ok.md": "Nothing.\n", f"agents/a/memories/{name}": "- [fact] Tea at four.\n"})
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
    fill(tmp_path, {f"agents/a/memories/{name}": "- [fact] Tea at four.\n"})
    assert "Tea at four" in inside("build", *DAY, cwd=tmp_path).out


def test_recorded_inputs_lack_files_with_secrets(tmp_path: Path) -> None:
    """P27: a stored copy would be one more place to clean; the replay reads the file itself."""
    secret_workspace(tmp_path)
    assert inside("build", *DAY, "--record-inputs", cwd=tmp_path).code == 0
    stored = [path.read_bytes() for path in (tmp_path / ".ctxasm/inputs").iterdir()]
    assert stored
    assert not [data for data in stored if TOKEN.encode() in data or PASSWORD.encode() in data]
    (record,) = (tmp_path / ".ctxasm/records").iterdir()
    assert inside("replay", record, cwd=tmp_path).code == 0


def test_long_front_matter_costs_its_file(tmp_path: Path) -> None:
    """P17: sixty-four thousand characters are enough for anybody."""
    fill(tmp_path, {"agents/a/KNOWLEDGE.md": f"---\nkey: {'x' * 70_000}\n---\nText.\n"})
    done = inside("build", *DAY, cwd=tmp_path)
    assert done.code == 0
    assert "[too-large]" in done.err


@pytest.mark.parametrize("unit", ["<x>\n", "<!-- a\n", "    ```x\n", "- ```x\n", "~~~~\nx\n```\n", "a <!-- b\n"])
def test_openings_without_an_end_cost_no_more_than_their_number(tmp_path: Path, unit: str) -> None:
    fill(tmp_path, {"agents/a/KNOWLEDGE.md": unit * 4_000 + "```\nend\n"})
    assert inside("build", *DAY, "-q", "--audience", "shared", cwd=tmp_path).code == 0


@pytest.mark.parametrize("option", ["--topic", "--additional", "--exclude", "--prefer"])
def test_a_record_holds_no_secret_of_the_command_line(tmp_path: Path, option: str) -> None:
    """P27: what was typed is recorded as it is used, masked."""
    fill(tmp_path, {})
    assert inside("build", *DAY, "-p", "query", option, f"my key {TOKEN}", "--record", cwd=tmp_path).code == 0
    (record,) = (tmp_path / ".ctxasm/records").iterdir()
    assert TOKEN[4:12] not in record.read_text()
