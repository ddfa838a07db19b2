"""Folders without settings: layouts of other tools, made by hand from their documentation, built without a flag."""

import os
import subprocess
from collections.abc import Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from contextasm.cli.command_line import COMMANDS
from tests.command import CASES, ctxasm, fill, inside
from tests.tables import cases, files_of
from tests.workspace.test_watch import watching

make = partial(fill, base={})
"""Makes a folder of these files alone: no agents."""

DAY = {"CTXASM_DATE": "2025-03-14"}


class Layout(NamedTuple):
    """The files of a folder, what is built of it, and what the receipt says of its profile."""

    files: Mapping[str, bytes]
    text: str
    words: str


def layout(part: str) -> Layout:
    """One case of the golden file."""
    files, _, expected = part.partition("=== says\n")
    words, _, text = expected.partition("\n=== builds\n")
    return Layout(files_of(files), text, words)


LAYOUTS = {name: layout(part) for name, part in cases(CASES / "layouts.md").items()}
OPENCLAW, REPO = LAYOUTS["openclaw"].files, LAYOUTS["repo"].files


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_real_layout_is_built_without_a_flag(tmp_path: Path, name: str) -> None:
    files, text, words = LAYOUTS[name]
    make(tmp_path, files)
    result = inside("build", cwd=tmp_path, env=DAY)
    assert (result.code, result.out) == (0, text)
    assert result.err.rstrip().endswith(words)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("command", ["check", "explain", "plan"])
def test_other_commands_take_the_same_profile(tmp_path: Path, name: str, command: str) -> None:
    files, _, words = LAYOUTS[name]
    make(tmp_path, files)
    result = inside(command, cwd=tmp_path, env=DAY)
    assert result.code == 0, result
    assert words in result.err


@pytest.mark.parametrize(
    ("name", "path", "text"),
    [
        ("openclaw-agents", "memory/2025-03-14.md", "- Sailed.\n"),
        ("repo", "docs/style.md", "Spaces.\n"),
        ("obsidian", "Daily/2025/03/14-03-2025 Friday.md", "- Sailed.\n"),
        ("logseq", "journals/2025_03_14.md", "- Sailed.\n"),
    ],
)
def test_a_watch_takes_the_same_profile(tmp_path: Path, name: str, path: str, text: str) -> None:
    files, whole, words = LAYOUTS[name]
    (tmp_path / "ws").mkdir()
    make(tmp_path / "ws", files)
    with watching(tmp_path, "--date", "2025-03-14") as watch:
        assert watch.out.read_text() == whole
        assert words in watch.log
        make(tmp_path / "ws", {path: text})
        watch.shows(text)


def test_a_search_without_memories_says_what_to_do(tmp_path: Path) -> None:
    make(tmp_path, {"PROJECT.md": "A harbour.\n", "ctxasm.yaml": "profile: own.yaml\n"})
    make(tmp_path, {"own.yaml": "layers: [{id: A, heading: A, source: document, path: PROJECT.md}]\n"})
    for words in ((), ("--all",)):
        result = inside("search", "ferry", *words, cwd=tmp_path, env=DAY)
        assert (result.code, result.out) == (2, "")
        assert "profile own: searches no memories: name a profile of memories with -p" in result.err


@pytest.mark.parametrize("name", LAYOUTS)
def test_show_finds_no_memory_and_says_so(tmp_path: Path, name: str) -> None:
    make(tmp_path, LAYOUTS[name].files)
    result = inside("show", "m-1", cwd=tmp_path, env=DAY)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("ctxasm: error: id: no memory has the id `m-1`")


@pytest.mark.parametrize("folder", ["/home/ana/notes", "../notes", "a/../../b", "~/notes", "C:\\\\notes"])
def test_daily_notes_outside_of_the_vault_are_refused_in_one_clear_line(tmp_path: Path, folder: str) -> None:
    make(tmp_path, {".obsidian/daily-notes.json": f'{{"folder": "{folder}"}}'})
    result = inside("build", cwd=tmp_path, env=DAY)
    shown = folder.replace("\\\\", "\\")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"ctxasm: error: .obsidian/daily-notes.json: the folder of daily notes, {shown}, is not inside this workspace: "
        "choose a folder of the workspace in the app, such as Daily\n"
    )


@pytest.mark.parametrize("folder", ["/Daily", "Daily/", " /Daily/ "])
def test_slashes_around_a_folder_of_daily_notes_mean_nothing(tmp_path: Path, folder: str) -> None:
    make(tmp_path, {".obsidian/daily-notes.json": f'{{"folder": "{folder}"}}', "Daily/2025-03-14.md": "- Today.\n"})
    assert "Today." in inside("build", "-q", cwd=tmp_path, env=DAY).out


SAYING = (
    *("build", "build -f json", "build --locked", "explain", "explain --json", "explain --id SOUL.md"),
    *("explain --line SOUL.md:1", "explain --html {page}", "explain --html {page} --budgets 1k,2k"),
    *("plan", "plan --json", "stats", "stats --json", "check", "check --json", "diff @1k", "diff @1k @2k --json"),
    *("diff HEAD --html {page}", "diff --text HEAD", "rules eval", "config", "config --json", "lock"),
    "search x --archive",
)
"""Commands whose result goes by the profile that is taken; `search` without archives needs one that has memories."""

NOT_SAYING = frozenset(
    {
        *("watch", "hook", "mcp"),  # they go on, and have tests of their own
        *("remember", "feedback", "show", "edit", "memory", "log", "tidy", "task", "import", "export"),  # no build
        *("records", "replay", "init", "profiles", "tokenizers", "completion", "store", "count", "fit"),
    }
)


@pytest.mark.parametrize("words", SAYING)
def test_profile_that_is_taken_is_named_on_standard_error(tmp_path: Path, words: str) -> None:
    make(tmp_path / "w", OPENCLAW)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    for git in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -qm first"):
        subprocess.run(["git", *git.split()], cwd=tmp_path / "w", env=environment, check=True)
    assert inside("lock", "-q", cwd=tmp_path / "w", env=DAY).code == 0
    typed = words.format(page=tmp_path / "page.html").split()
    result = inside(*typed, cwd=tmp_path / "w", env=DAY)
    assert result.err.count(LAYOUTS["openclaw"].words) == 1, result
    assert LAYOUTS["openclaw"].words not in result.out
    named = inside(*typed, "-p", "openclaw", cwd=tmp_path / "w", env=DAY)
    assert "profile openclaw, for" not in named.err


def test_every_command_says_it_or_takes_no_profile() -> None:
    saying = {words.split()[0] for words in (*SAYING, "search")}
    assert {*COMMANDS} == saying | NOT_SAYING
    assert not saying & NOT_SAYING


@pytest.mark.parametrize("name", ["AGENTS.md", "SOUL.md", "CLAUDE.md", ".cursorrules", "logseq/config.edn"])
def test_folder_with_the_name_of_a_file_is_no_sign(tmp_path: Path, name: str) -> None:
    make(tmp_path / "w", {f"{name}/x.md": "Text.\n", ".obsidian": "", ".cursor/rules": ""})
    result = inside("build", cwd=tmp_path / "w", env=DAY)
    assert (result.code, "no workspace here or above" in result.err) == (2, True)


def test_nearest_folder_is_taken_outside_of_a_repository(tmp_path: Path) -> None:
    make(tmp_path, {"home/AGENTS.md": "Top.\n", "home/a/AGENTS.md": "Nested.\n", "home/a/b/x.py": ""})
    home = {**DAY, "HOME": str(tmp_path / "home")}
    assert "Nested." in inside("build", "-q", cwd=tmp_path / "home" / "a" / "b", env=home).out
    (tmp_path / "home" / ".git").mkdir()
    out = inside("build", "-q", cwd=tmp_path / "home" / "a" / "b", env=home).out
    assert ("Top." in out, "Nested." in out) == (True, False)


def test_nested_files_and_rules_come_with_an_open_file(tmp_path: Path) -> None:
    make(tmp_path, REPO)
    out = inside("build", "-q", "--open", "app/main.py", "--open", "web/x.tsx", cwd=tmp_path, env=DAY).out
    assert "Typed." in out
    assert "Strict." in out
    assert out.endswith("### app/AGENTS.md\nNested.\n")
    assert "On request." not in out


def test_explain_names_imports_equal_files_and_rules_that_do_not_apply(tmp_path: Path) -> None:
    make(tmp_path, REPO)
    out = inside("explain", cwd=tmp_path, env=DAY).out
    rows = {line[: line.index(":")].split()[-1]: line for line in out.splitlines()[1:]}
    assert "included" in rows["docs/style.md"]
    assert "the same as AGENTS.md" in rows["CLAUDE.md"]
    assert "no such file is open" in rows[".cursor/rules/py.mdc"]
    assert "only if an agent asks" in rows[".cursor/rules/ask.mdc"]


def test_the_folder_is_found_upwards_to_the_top_of_the_repository(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {"SOUL.md": "Above.\n", "r/.git/HEAD": "", "r/AGENTS.md": "Top.\n", "r/a/AGENTS.md": "Nested.\n"},
        base={},
    )
    fill(
        tmp_path,
        {"r/notes/.obsidian/app.json": "{}", "r/notes/2025-03-14.md": "- Today.\n", "r/notes/x/y.md": ""},
        base={},
    )
    make(tmp_path, {"bare/.git/HEAD": "", "bare/src/main.py": ""})
    assert "Top." in inside("build", "-q", cwd=tmp_path / "r" / "a", env=DAY).out
    assert "Today." in inside("build", "-q", cwd=tmp_path / "r" / "notes" / "x", env=DAY).out
    assert "Top." in inside("build", "-q", "-p", "repo", cwd=tmp_path / "r" / "notes" / "x", env=DAY).out
    nothing = inside("build", cwd=tmp_path / "bare" / "src", env=DAY)
    assert nothing.code == 2
    assert "no workspace here or above" in nothing.err


def test_the_home_folder_is_the_last_that_is_looked_at(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {"AGENTS.md": "Planted.\n", "home/x/y.txt": "", "other/AGENTS.md": "Mine.\n", "other/z/y.txt": ""},
        base={},
    )
    home = {**DAY, "HOME": str(tmp_path / "home")}
    assert inside("build", cwd=tmp_path / "home" / "x", env=home).code == 2
    assert inside("build", cwd=tmp_path / "other" / "z", env=home).code == 2
    assert "Mine." in inside("build", cwd=tmp_path / "other", env=home).out


AGENT = {"agents/a/IDENTITY.md": "A\n", "agents/a/INSTRUCTIONS.md": "Work.\n"}


@pytest.mark.parametrize("mark", [{"ctxasm.yaml": "budget: 4k\n"}, AGENT])
def test_settings_and_agents_say_what_a_folder_is(tmp_path: Path, mark: dict[str, str]) -> None:
    make(tmp_path, {"SOUL.md": "Calm.\n", **mark})
    result = inside("build", cwd=tmp_path, env=DAY)
    assert "found" not in result.err
    assert "profile openclaw" not in result.err


@pytest.mark.parametrize(
    "names", [*product((False, True), repeat=5)], ids=lambda names: "".join("NY"[n] for n in names)
)
def test_what_a_folder_is(tmp_path: Path, names: tuple[bool, ...]) -> None:
    settings, identity, instructions, soul, rules = names
    files = dict(zip(("ctxasm.yaml", *AGENT, "SOUL.md", "AGENTS.md"), names, strict=True))
    make(
        tmp_path,
        {path: "" if path == "ctxasm.yaml" else f"Of {path}.\n" for path, is_there in files.items() if is_there},
    )
    result = inside("build", cwd=tmp_path, env={**DAY, "HOME": str(tmp_path)})
    is_native = settings or (identity and instructions) or ((identity or instructions) and not (soul or rules))
    if is_native and identity:
        assert "Of agents/a/IDENTITY.md." in result.out
    elif is_native:
        assert (result.code, "agent: no agent " in result.err) == (2, True)
    elif soul or rules:
        assert f"profile {'openclaw' if soul else 'repo'}, because " in result.err
        assert "Of agents/a" not in result.out
    else:
        assert "no workspace here or above" in result.err


@pytest.mark.parametrize(
    "files", [{"agents/prompts/fix.md": "Fix.\n"}, {"agents/__init__.py": ""}, {"agents/x/AGENT.md": "X\n"}]
)
def test_a_folder_agents_of_another_program_is_no_sign(tmp_path: Path, files: dict[str, str]) -> None:
    make(tmp_path, {"AGENTS.md": "Be kind.\n", **files})
    result = inside("build", cwd=tmp_path, env=DAY)
    assert (result.code, "Be kind." in result.out) == (0, True)
    assert inside("check", cwd=tmp_path, env=DAY).code == 0
    event = '{"hook_event_name": "SessionStart"}'
    assert "systemMessage" not in inside("hook", cwd=tmp_path, env=DAY, stdin=event).out


def test_no_workspace_names_the_signs_that_were_looked_for(tmp_path: Path) -> None:
    make(tmp_path, {"agents/prompts/fix.md": "Fix.\n"})
    refused = inside("build", cwd=tmp_path, env={**DAY, "HOME": str(tmp_path)})
    assert refused.code == 2
    for sign in ("ctxasm.yaml", "agents/NAME/IDENTITY.md", "SOUL.md", ".obsidian", "AGENTS.md", "CLAUDE.md"):
        assert sign in refused.err


def test_a_profile_of_another_kind_of_folder_is_told_what_is_here(tmp_path: Path) -> None:
    make(tmp_path, {"SOUL.md": "Calm.\n"})
    refused = inside("build", "-p", "logseq", cwd=tmp_path, env={**DAY, "HOME": str(tmp_path)})
    assert (refused.code, "use -p openclaw for SOUL.md" in refused.err) == (2, True)
    assert "no logseq/config.edn)" in refused.err


def test_an_agent_below_an_openclaw_workspace_is_a_workspace_of_its_own(tmp_path: Path) -> None:
    files = {"SOUL.md": "Brave.\n", "MEMORY.md": "- Ops\n", "memory/2025-03-12.md": "Deployed.\n"}
    make(tmp_path, {**OPENCLAW, **{f"agents/ops/{path}": text for path, text in files.items()}})
    named = inside("build", "-a", "ops", cwd=tmp_path, env=DAY)
    assert named.code == 0
    assert [text in named.out for text in ("Brave.", "- Ops", "Deployed.", "Calm.")] == [True, True, True, False]
    assert named.out == inside("build", cwd=tmp_path / "agents/ops", env=DAY).out
    assert named.out == inside("build", "-w", tmp_path / "agents/ops", env=DAY).out
    make(tmp_path, {"ctxasm.yaml": "profile: openclaw\nagent: ops\n"})
    assert named.out == inside("build", cwd=tmp_path, env=DAY).out
    assert "did you mean ops?" in inside("build", "-a", "opps", cwd=tmp_path, env=DAY).err


def test_lock_has_the_files_of_every_agent_below_an_openclaw_workspace(tmp_path: Path) -> None:
    make(tmp_path, {**OPENCLAW, "agents/ops/SOUL.md": "Brave.\n"})
    assert inside("lock", cwd=tmp_path, env=DAY).code == 0
    assert inside("build", "-a", "ops", "--locked", cwd=tmp_path, env=DAY).code == 0
    make(tmp_path, {"agents/ops/SOUL.md": "Bold.\n"})
    assert inside("build", "-a", "ops", "--locked", cwd=tmp_path, env=DAY).code == 1


def test_receipt_names_what_lies_unread_beside_an_agent(tmp_path: Path) -> None:
    make(tmp_path, {**OPENCLAW, **AGENT, "CLAUDE.md": "Kind.\n"})
    words = "not read, but also here: SOUL.md, "
    receipt = inside("build", cwd=tmp_path, env=DAY).err
    assert words in receipt
    assert "(-p openclaw), CLAUDE.md (-p repo)" in receipt
    assert words not in inside("build", "-p", "default", cwd=tmp_path, env=DAY).err
    make(tmp_path, {"CLAUDE.md": ""})
    assert "(-p repo)" not in inside("build", "--into", "CLAUDE.md", cwd=tmp_path, env=DAY).err
    assert "(-p repo)" not in inside("build", cwd=tmp_path, env=DAY).err


def test_an_error_about_agents_names_what_else_is_here(tmp_path: Path) -> None:
    make(tmp_path, {**OPENCLAW, "ctxasm.yaml": "budget: 4k\n"})
    refused = inside("build", cwd=tmp_path, env=DAY)
    assert (refused.code, "use -p openclaw for SOUL.md" in refused.err) == (2, True)
    assert inside("build", "-p", "openclaw", cwd=tmp_path, env=DAY).code == 0


def test_check_of_another_profile_asks_for_no_files_of_agents(tmp_path: Path) -> None:
    make(tmp_path, {**OPENCLAW, "agents/ops/SOUL.md": "Ops.\n"})
    result = inside("check", "-p", "openclaw", cwd=tmp_path, env=DAY)
    assert (result.code, "IDENTITY" in result.out) == (0, False)


@pytest.mark.parametrize("others", [{"MEMORY.md": "Large.\n"}, {}], ids=["two names", "one name"])
def test_a_memory_in_small_letters_is_not_read_since_the_host_never_loads_it(
    tmp_path: Path, others: dict[str, str]
) -> None:
    make(tmp_path, {"SOUL.md": "Calm.\n", "memory.md": "Small.\n"} | others)
    assert "Small." not in inside("build", "-q", cwd=tmp_path, env=DAY).out


def test_init_makes_agents_in_this_folder_and_not_in_one_of_another_tool(tmp_path: Path) -> None:
    make(tmp_path, {".git/HEAD": "", "AGENTS.md": "Top.\n", "here/x.md": ""})
    assert ctxasm("init", "--agent", "luna", cwd=tmp_path / "here").code == 0
    assert (tmp_path / "here" / "agents" / "luna").is_dir()
    assert not (tmp_path / "agents").exists()
