"""What is wrong is told in one line that says where, what and what to do; the rest of a build goes on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from contextasm.cli.command_line import COMMANDS
from contextasm.cli.typer_commands import group
from contextasm.text.cleaning.clean import LONGEST_MESSAGE, LONGEST_WORD
from tests.command import LUNA, SAMPLE, SMALL, SMALL_TEXT, clean, ctxasm, fill, inside, refused, shell, start

IDENTITY = "agents/a/IDENTITY.md"

NEEDS_FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")


def test_place_without_workspace_is_refused(tmp_path: Path) -> None:
    refused(inside("build", cwd=tmp_path), str(tmp_path), "no workspace here or above", "-w DIR", "ctxasm init")


@pytest.mark.parametrize("named", ["flag", "variable"])
def test_named_workspace_that_is_not_there_is_refused(tmp_path: Path, named: str) -> None:
    gone = tmp_path / "gone"
    words = ["-w", str(gone)] if named == "flag" else []
    env = {} if named == "flag" else {"CTXASM_WORKSPACE": str(gone)}
    refused(inside("build", *words, cwd=fill(tmp_path, {}), env=env), str(gone), "does not exist")


def test_workspace_that_is_a_file_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, {"ctxasm.yaml": ""})
    refused(inside("build", "-w", tmp_path / "ctxasm.yaml"), "ctxasm.yaml", "is not a folder")


@pytest.mark.parametrize("flag", ["--agent", "--team"])
@pytest.mark.parametrize("name", ["../x", "/etc", "a/b", ".hidden", "..", "a b", "a\n", "a\0b", "*", "~"])
def test_name_that_is_no_single_folder_is_refused(flag: str, name: str) -> None:
    """P12: a name never leaves `agents/` or `teams/`."""
    agent = ("-a", "luna") if flag == "--team" else ()
    refused(inside("build", *agent, flag, name, cwd=SAMPLE), flag, "can't be a name", "do not begin with `.`")


@pytest.mark.parametrize(
    ("variable", "value", "part"),
    [
        ("CTXASM_AGENT", "../x", "can't be a name"),
        ("CTXASM_BUDGET", "much", "not a number of tokens"),
        ("CTXASM_TOKENIZER", "words", "unknown tokenizer"),
        ("CTXASM_DATE", "tomorrow", "is not a date"),
        ("SOURCE_DATE_EPOCH", "yesterday", "seconds since 1970"),
        ("SOURCE_DATE_EPOCH", "1" * 30, "seconds since 1970"),
        ("SOURCE_DATE_EPOCH", "", "seconds since 1970"),
    ],
)
def test_variable_that_can_not_be_used_is_named(variable: str, value: str, part: str) -> None:
    """P29: who set it has to find it."""
    refused(inside("build", "-w", SAMPLE, env={"CTXASM_AGENT": "luna", variable: value}), variable, part)


@pytest.mark.parametrize("words", [("--no-such",), ("-x",)])
def test_an_option_before_any_command_is_refused(words: tuple[str, ...]) -> None:
    result = inside(*words, cwd=SAMPLE)
    assert (result.code, result.out) == (2, "")
    assert "Usage" in result.err or "--help" in result.err
    assert "Traceback" not in result.err
    assert "bug" not in result.err


@pytest.mark.parametrize("words", [("--help",), ("build", "--help"), ("explain", "--help")])
def test_help_is_on_standard_output(words: tuple[str, ...]) -> None:
    result = inside(*words)
    assert (result.code, result.err) == (0, "")
    assert "Usage: ctxasm" in result.out


def test_budget_of_nothing_keeps_required_layers_and_says_so() -> None:
    """P26: a limit of 0 is a limit; what is required stands whole."""
    result = inside("build", *LUNA, "-b", "0")
    assert result.code == 0
    assert result.out.startswith("## Identity\n")
    assert result.out.count("\n## ") == 1
    assert "[over-budget]" in result.err


def test_strict_build_over_budget_writes_nothing(tmp_path: Path) -> None:
    """P26: the answer is no: code 1."""
    result = inside("build", *LUNA, "-b", "0", "--strict", "-o", tmp_path / "out.md")
    assert (result.code, result.out, [*tmp_path.iterdir()]) == (1, "", [])
    assert "[over-budget]" in result.err
    assert "--strict: " in result.err


@pytest.mark.parametrize(("written", "tokens"), [("4k", "4,000"), ("4.5K", "4,500"), ("4_000", "4,000"), ("12", "12")])
def test_budget_may_be_written_in_thousands(written: str, tokens: str) -> None:
    result = inside("build", *LUNA, "-b", written)
    assert result.code == 0
    assert f" of {tokens} tokens (estimate)" in result.err


@pytest.mark.parametrize("path", SMALL)
def test_missing_file_of_an_agent_is_refused(tmp_path: Path, path: str) -> None:
    (fill(tmp_path, {}) / path).unlink()
    refused(inside("build", "-a", "a", cwd=tmp_path), f"{path}: is missing", "ctxasm init --agent a")


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf", b"---\ntitle: x\n---\n"])
def test_empty_identity_is_a_problem(tmp_path: Path, content: bytes) -> None:
    fill(tmp_path, {IDENTITY: content})
    result = inside("build", cwd=tmp_path)
    assert (result.code, result.out) == (0, "## Instructions\nDo it.\n")
    assert f"{IDENTITY}: is empty" in result.err
    assert inside("build", "--strict", cwd=tmp_path).code == 1


@pytest.mark.parametrize(
    ("make", "part"),
    [
        pytest.param(Path.mkdir, "a folder", id="folder"),
        pytest.param(os.mkfifo, "a pipe", id="pipe"),
        pytest.param(lambda path: path.symlink_to("/dev/zero"), "leads out of the workspace", id="device"),
        pytest.param(lambda path: path.symlink_to("/etc/passwd"), "leads out of the workspace", id="link out"),
        pytest.param(lambda path: path.symlink_to("../" * 10 + "etc/passwd"), "leads out of the workspace", id="dots"),
        pytest.param(lambda path: path.symlink_to(path), "", id="link to itself"),
    ],
)
@pytest.mark.parametrize("path", [IDENTITY, "agents/a/KNOWLEDGE.md", "agents/a/memories/m.md"])
def test_what_is_no_file_of_the_workspace_is_never_waited_for_nor_read(
    tmp_path: Path, path: str, make: Callable[[Path], None], part: str
) -> None:
    """P13: in a required layer it ends the build, elsewhere it is a problem."""
    target = fill(tmp_path, {}) / path
    target.unlink(missing_ok=True)
    target.parent.mkdir(exist_ok=True)
    if make is Path.mkdir and "memories" in path:
        pytest.skip("a pattern finds files only, so a folder of that name is none of its matches")
    make(target)
    result = inside("build", "--date", "2025-03-14", cwd=tmp_path)
    if path == IDENTITY:
        refused(result, path, part)
    else:
        assert (result.code, result.out) == (0, SMALL_TEXT)
        assert f"ctxasm: warning: {path}: " in result.err
        assert part in result.err
        assert inside("build", "--date", "2025-03-14", "--strict", cwd=tmp_path).code == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file, whatever its mode")
def test_unreadable_identity_is_refused(tmp_path: Path) -> None:
    (fill(tmp_path, {}) / IDENTITY).chmod(0)
    refused(inside("build", cwd=tmp_path), IDENTITY, "Permission denied")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"caf\xe9 au lait", ("not valid UTF-8", "byte 3")),
        (b"\xef\xbb\xbfcaf\xe9", ("not valid UTF-8", "byte")),
        (b"\xff\xfea\0\0\xd8", ("not valid UTF-16", "byte")),
    ],
)
def test_file_that_is_no_text_is_refused_with_the_byte(tmp_path: Path, content: bytes, parts: tuple[str, ...]) -> None:
    """P16: so that it can be found in an editor."""
    fill(tmp_path, {IDENTITY: content})
    refused(inside("build", cwd=tmp_path), IDENTITY, *parts)


def test_optional_file_that_is_no_text_is_a_problem(tmp_path: Path) -> None:
    """P16: the rest goes on."""
    fill(tmp_path, {"agents/a/KNOWLEDGE.md": b"caf\xe9"})
    result = inside("build", cwd=tmp_path)
    assert (result.code, result.out) == (0, SMALL_TEXT)
    assert "agents/a/KNOWLEDGE.md: is not valid UTF-8: " in result.err


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marked_text_of_another_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    fill(tmp_path, {IDENTITY: "Ich bin ä.\r\nJa.\r\n".encode(encoding)})
    assert inside("build", cwd=tmp_path).out.startswith("## Identity\nIch bin ä.\nJa.\n\n")


def test_link_inside_the_workspace_is_followed(tmp_path: Path) -> None:
    fill(tmp_path, {"shared/who.md": "I am shared.\n", "shared/logs/2025-03-14.md": "Today.\n"})
    (tmp_path / IDENTITY).unlink()
    (tmp_path / IDENTITY).symlink_to("../../shared/who.md")
    (tmp_path / "agents/a/daily").symlink_to(tmp_path / "shared/logs")
    result = inside("build", "--date", "2025-03-14", cwd=tmp_path)
    assert result.code == 0
    assert "I am shared." in result.out
    assert "### 2025-03-14\nToday." in result.out


@pytest.mark.parametrize("parent", ["agents/a/daily", "agents/a", "agents"])
def test_folder_that_is_a_link_out_of_the_workspace_is_not_entered(tmp_path: Path, parent: str) -> None:
    """P12: told, and nothing behind it is read."""
    there = fill(tmp_path / "there", {"agents/a/daily/2025-03-14.md": "SECRET\n", "agents/a/IDENTITY.md": "SECRET\n"})
    here = tmp_path / "here"
    here.mkdir()
    fill(here, {"ctxasm.yaml": "date: 2025-03-14\n"}, base=SMALL if parent.endswith("daily") else {})
    (here / parent).parent.mkdir(parents=True, exist_ok=True)
    (here / parent).symlink_to(there / parent)
    result = inside("build", "-a", "a", cwd=here)
    assert "SECRET" not in result.out + result.err
    assert "leads out of the workspace" in result.err, result.err
    assert result.code == (0 if parent.endswith("daily") else 2)


def test_identity_of_fifty_megabytes_is_built_and_told(tmp_path: Path) -> None:
    """P15: required layers are whole, whatever they weigh."""
    text = "Fifty bytes of identity, again and again, my dear.\n" * 1_000_000
    fill(tmp_path, {IDENTITY: text, "agents/a/KNOWLEDGE.md": "Nothing fits.\n"})
    result = inside("build", cwd=tmp_path)
    assert result.code == 0
    assert len(result.out) == len(text) + len("## Identity\n\n## Instructions\nDo it.\n")
    assert "[over-budget]" in result.err


@pytest.mark.parametrize("name", ["2025-02-30.md", "2025-13-01.md", "yesterday.md", "2025-3-1.md"])
def test_log_whose_name_is_no_date_is_a_problem(tmp_path: Path, name: str) -> None:
    """P19: the other logs are shown."""
    fill(tmp_path, {f"agents/a/daily/{name}": "Lost.\n", "agents/a/daily/2025-03-14.md": "Here.\n"})
    result = inside("build", "--date", "2025-03-14", cwd=tmp_path)
    assert result.code == 0
    assert "### 2025-03-14\nHere.\n" in result.out
    assert "Lost" not in result.out
    assert f"agents/a/daily/{name}" in result.err
    assert "YYYY-MM-DD.md" in result.err


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        pytest.param("agent: a\nbudget: [1\n", ("ctxasm.yaml:", "not valid YAML"), id="syntax"),
        pytest.param("agent: a\n\tbudget: 1\n", ("ctxasm.yaml:2", "not valid YAML"), id="tab"),
        pytest.param("budget: 1\nagent: a\nbudget: 2\n", ("ctxasm.yaml:3", "line 1", "budget"), id="key twice"),
        pytest.param("agent: a\nbugdet: 1\n", ("ctxasm.yaml:2", "unknown key `bugdet`", "mean budget?"), id="key"),
        pytest.param("agent: a\n\nbudget: lots\n", ("ctxasm.yaml:3", "budget", "lots"), id="type"),
        pytest.param("budget: true\n", ("ctxasm.yaml:1", "budget", "4000 or 4k"), id="truth for a number"),
        pytest.param("agent: [a]\n", ("ctxasm.yaml:1", "agent"), id="list for a name"),
        pytest.param("profile: 7\n", ("ctxasm.yaml:1", "profile"), id="number for a name"),
        pytest.param("date: 2025-02-30\n", ("ctxasm.yaml:1", "date", "has 28 days"), id="date"),
        pytest.param("profile: ../x.yaml\n", ("ctxasm.yaml:1", "inside the workspace"), id="profile outside"),
        pytest.param("layers:\n  - id: L8\n    top: 1\n", ("ctxasm.yaml:2", "unknown layer `L8`"), id="unknown layer"),
        pytest.param("layers:\n  - id: L3\n    tpo: 1\n", ("ctxasm.yaml:3", "tpo", "mean top?"), id="key of a layer"),
        pytest.param("layers:\n  - id: L3\n    top: x\n", ("ctxasm.yaml:3", "top", "x"), id="type in a layer"),
        pytest.param("layers:\n  L3:\n    top: 1\n", ("ctxasm.yaml:1", "list of layers"), id="table of layers"),
        pytest.param("- agent\n- a\n", ("ctxasm.yaml:1", "key: value"), id="list instead of table"),
        pytest.param("a\n", ("ctxasm.yaml:1", "key: value"), id="word instead of table"),
        pytest.param("agent: a\n---\nagent: b\n", ("ctxasm.yaml:2", "a second YAML document"), id="two documents"),
        pytest.param("agent: !!python/name:os.system a\n", ("ctxasm.yaml:1", "a tag (!) is not supported"), id="tag"),
        pytest.param("[" * 5000, ("ctxasm.yaml:1", "nested too deeply"), id="deep"),
        pytest.param(b"agent: \xff\n", ("ctxasm.yaml", "byte 7"), id="no text"),
        pytest.param("agent: *x\n", ("ctxasm.yaml:1", "an alias (*) is not supported"), id="alias"),
        pytest.param("team: ghosts\n", ("ctxasm.yaml:1", "unknown team `ghosts`"), id="team that is not there"),
    ],
)
def test_slip_in_the_config_is_refused_with_its_line(
    tmp_path: Path, content: str | bytes, parts: tuple[str, ...]
) -> None:
    """P17: file, line, what is wrong, and the nearest right word."""
    refused(inside("build", cwd=fill(tmp_path, {"ctxasm.yaml": content})), *parts)


@pytest.mark.parametrize("content", ["", "\n", "# nothing\n", "agent:\n", "budget: 16_000\n", "agent: ~\n"])
def test_config_that_says_little_is_fine(tmp_path: Path, content: str) -> None:
    result = inside("build", cwd=fill(tmp_path, {"ctxasm.yaml": content}))
    assert (result.code, result.out) == (0, SMALL_TEXT), result.err


def test_build_never_reads_a_silent_pipe(tmp_path: Path) -> None:
    """P13: an editor or a service may leave one open."""
    reading, writing = os.pipe()
    try:
        assert ctxasm("build", "-q", cwd=fill(tmp_path, {}), stdin=reading) == (0, SMALL_TEXT, "")
    finally:
        os.close(reading)
        os.close(writing)


def test_topic_is_read_from_standard_input_when_asked_for(tmp_path: Path) -> None:
    result = inside("build", "--topic", "-", "-f", "json", cwd=fill(tmp_path, {}), stdin="the harbor\n")
    assert '"topic": "the harbor"' in result.out


def test_closed_standard_input_can_not_be_a_topic(tmp_path: Path) -> None:
    refused(shell('"$@" <&-', "build", "--topic", "-", cwd=fill(tmp_path, {})), "--topic -", "closed")


def test_topic_that_is_no_text_is_refused(tmp_path: Path) -> None:
    result = shell('printf "ab\\377" | "$@"', "build", "--topic", "-", cwd=fill(tmp_path, {}))
    refused(result, "--topic -", "byte 2 is not UTF-8")


def test_reader_that_leaves_early_ends_the_build_quietly(tmp_path: Path) -> None:
    """P6: as `| head -1` does: code 141 or 0, nothing on standard error."""
    fill(tmp_path, {IDENTITY: "A line that is in the way.\n" * 200_000})
    script = '{ "$@"; echo "code $?" >&2; } | head -1'
    result = shell(script, "build", "-q", cwd=tmp_path)
    assert (result.code, result.out) == (0, "## Identity\n")
    assert result.err in {"code 141\n", "code 0\n"}


@pytest.mark.parametrize("words", [("--help",), ("explain", *LUNA), ("profiles",), ("--version",)])
def test_reader_that_has_gone_already_is_no_bug(words: tuple[str, ...]) -> None:
    """P6: nor a traceback, for any command."""
    reading, writing = os.pipe()
    os.close(reading)
    done = start(*words, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    err = done.communicate(timeout=30)[1].decode()
    assert done.returncode in {0, 141}, err
    assert "Traceback" not in err
    assert "bug" not in err
    assert "Exception ignored" not in err


@pytest.mark.parametrize(
    "words",
    [
        ("build", *LUNA),
        ("build", "-v", *LUNA),
        ("config", *LUNA),
        ("profiles",),
        ("tokenizers",),
        ("--help",),
        ("--version",),
    ],
    ids=lambda words: words[0],
)
@NEEDS_FULL
def test_full_disk_behind_standard_output_is_told(words: tuple[str, ...]) -> None:
    """P6: one line, code 2, nothing of Python's."""
    refused(shell('"$@" >/dev/full', *words), "No space left on device")


@NEEDS_FULL
def test_full_disk_behind_a_file_is_told() -> None:
    """P6: named by its path."""
    refused(inside("build", *LUNA, "-o", "/dev/full"), "/dev/full", "No space left on device")


@pytest.mark.parametrize(
    "words",
    [("build", "-q"), ("stats",), ("memory", "list", "--json"), ("completion", "bash")],
    ids=lambda words: words[0],
)
def test_closed_standard_output_is_told(tmp_path: Path, words: tuple[str, ...]) -> None:
    """P6: it is where the document was to go; the advice names no option, as few commands have `-o`."""
    result = shell('"$@" >&-', *words, cwd=fill(tmp_path, {}))
    refused(result, "standard output", "can't be written")
    assert result.err.endswith(": redirect it to a file\n")


@pytest.mark.parametrize(
    ("redirection", "words", "expected"),
    [
        ("<&-", ("-q",), (0, SMALL_TEXT, "")),
        ("</dev/null", ("-q",), (0, SMALL_TEXT, "")),
        (">&-", ("-q", "-o", "out.md"), (0, "", "")),
        ("2>&-", (), (0, SMALL_TEXT, "")),
        ("2>&-", ("-o", "out.md"), (0, "", "")),
        ("2>&-", ("-b", "x"), (2, "", "")),
    ],
)
def test_closed_stream_that_is_not_needed_does_not_matter(
    tmp_path: Path, redirection: str, words: tuple[str, ...], expected: tuple[int, str, str]
) -> None:
    """P6: what was to be told on a closed standard error is lost, not mixed in."""
    assert shell(f'"$@" {redirection}', "build", *words, cwd=fill(tmp_path, {})) == expected
    assert "-o" not in words or (tmp_path / "out.md").read_text() == SMALL_TEXT


@pytest.mark.parametrize(("signal_", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_a_waiting_build_with_its_code(tmp_path: Path, signal_: signal.Signals, code: int) -> None:
    """P29: without a word, and without output."""
    pipe = subprocess.PIPE
    process = start("build", "--topic", "-", cwd=fill(tmp_path, {}), stdin=pipe, stdout=pipe, stderr=pipe)
    _wait_until_it_reads(process.pid)
    process.send_signal(signal_)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.strip()) == (code, b"", b"")


def _wait_until_it_reads(process: int) -> None:
    end = time.monotonic() + 3  # where the system does not tell, that is long enough
    while time.monotonic() < end:
        try:
            call = Path(f"/proc/{process}/wchan").read_text()
        except OSError:
            call = ""
        if "pipe" in call:
            return
        time.sleep(0.02)


def test_environment_of_the_tests_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXASM_AGENT", "somebody")
    env: Mapping[str, str] = clean()
    assert [name for name in env if name.startswith("CTXASM")] == ["CTXASM_NO_REPLAY"]
    assert env["HOME"] != os.environ.get("HOME")


@pytest.mark.parametrize(
    "words",
    [
        ("build", "-a", "x" * 3000),
        ("build", "-a", "x y " * 3000),
        ("build", "-p", "x" * 3000),
        ("build", "-p", "x y " * 3000),
        ("build", "--" + "x" * 3000),
        ("x" * 3000,),
        ("build", "-b", "9" * 3000),
        ("show", "x" * 3000),
        ("remember", "A", "--type", "x]" * 400),
        ("hook", "x" * 3000),
    ],
    ids=lambda words: " ".join(words)[:20],
)
def test_long_name_is_shown_by_its_ends(tmp_path: Path, words: Sequence[str]) -> None:
    done = inside(*words, cwd=fill(tmp_path, {}))
    told = done.err + done.out
    assert "error: " in told
    assert "..." in told or "is too long" in told
    assert len(told) <= LONGEST_MESSAGE + 100
    assert not any(len(word) > LONGEST_WORD + 2 for word in re.split(r"[\s/]", told))


def test_path_in_a_message_keeps_its_names(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["a" * 60] * 5)
    refused(inside("build", "-w", folder), str(folder), "does not exist")


def test_hidden_character_in_a_name_is_shown() -> None:
    refused(inside("build", *LUNA[:2], "-a", "lu\u200bna"), "--agent: `lu\\u200bna` can't be a name")


def _empty_values(command: str) -> Iterator[tuple[str, ...]]:
    """Command lines with the value is empty of each parameter that names something; the other arguments are there."""
    parameters = group().get_command(None, command).params
    arguments = [each for each in parameters if each.param_type_name == "argument"]
    for each in parameters:
        free = each.name in {"text", "topic", "additional", "missing", "team", "if_none_match"}
        if each.param_type_name == "option" and not (each.is_flag or each.count or free):
            needed = ["x" for other in arguments if other.required]
            yield (command, *needed, f"{each.opts[0]}=")
        elif each.param_type_name == "argument" and not free:
            yield (command, *("" if other is each else "x" for other in arguments))


@pytest.mark.parametrize("command", COMMANDS)
def test_an_empty_value_is_refused(command: str, tmp_path: Path) -> None:
    fill(tmp_path, SMALL)
    for words in _empty_values(command):
        result = inside(*words, cwd=tmp_path)
        assert "is empty: give a value" in result.err or "Invalid value for" in result.err, words
        assert result.err.count("\n") == 1, words
        assert result.code == 2 or command == "hook", words


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_is_no_value_of_the_option_before_it(command: str, tmp_path: Path) -> None:
    options = [each for each in group().get_command(None, command).params if each.param_type_name == "option"]
    with_value = [each.opts[0] for each in options if not (each.is_flag or each.count or each.metavar == "TEXT")]
    for first, second in pairwise(with_value[:3]):
        result = inside(command, first, second, "x", cwd=tmp_path)
        assert f"{first}: has no value before {second}" in result.err


def test_a_quiet_search_prints_hits_only(tmp_path: Path) -> None:
    folder = fill(tmp_path, {"agents/a/memories/m.md": "- [fact] The bell rings. {id=bell-1 importance=much}\n"})
    found, none = (inside("search", "-q", word, "-w", folder) for word in ("bell", "lamp"))
    assert (found.code, "bell-1" in found.out, found.err) == (0, True, "")
    assert (none.code, none.out, none.err) == (1, "", "")
    assert inside("search", "-q", "--archive", "lamp", "-w", folder) == none


def test_a_host_without_a_name_and_a_line_of_a_host_are_explained() -> None:
    refused(inside("explain", "--host", "--line", "x:1"), "--host: has no value before --line: give a value")
    refused(inside("explain", "--host", "codex", "--line", "x:1"), "--line: can't be used with --host", "--html FILE")


def test_an_empty_team_is_no_team_and_an_empty_etag_is_none(tmp_path: Path) -> None:
    fill(tmp_path, {"ctxasm.yaml": "team: nobody\n"})
    assert inside("build", "-a", "a", "-t", "", "--if-none-match", "", "-q", cwd=tmp_path).out == SMALL_TEXT


def test_a_current_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    gone, root = tmp_path / "gone", fill(tmp_path / "w", {})
    gone.mkdir()
    result = shell(f"cd {gone} && rmdir {gone} && " + '"$@"', "build", "-w", root)
    assert result.code == 2
    assert "current folder: can't be read" in result.err


@pytest.mark.parametrize("words", [("help", "build"), ("build", "--help")])
def test_a_help_text_that_nobody_gets_is_an_error(words: tuple[str, ...]) -> None:
    refused(shell('"$@" >&-', *words), "standard output: is closed")
