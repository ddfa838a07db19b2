"""README.md and the pages below docs/: their code blocks work, and their links lead somewhere.

A page is followed from its first line to its last, on 14 March 2025. It begins in a copy of the sample workspace, and
`<!-- workspace: NAME -->` goes on in a new one of `WORKSPACES`. A block below a line that ends in a path in backticks
(a colon may follow) is that file; so is a comment `<!-- file PATH: TEXT -->`.

- `console`: each line after `$` runs, and prints the lines below it, in this order. Three dots stand for any text, and
  on a line of their own for any lines. `ID` in a line is the first id of a memory or record that the last one printed.
- `sh`: each command line of `ctxasm` in it can be parsed. On the pages of `TRIED` it also runs, and ends with 0, or
  with 1 if the line says `exit 1`. In the backticks of a text, commands and flags exist.
- `yaml`: it can be read as the settings, the profile or the rules that it is.
- `python`: it runs next to the sample workspace.

The comment `<!-- not run: REASON -->` above a block says why none of this is done, and
`<!-- held by: tests/FILE.py -->` which other test reads it; below the title of a page it speaks of all its blocks.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

from contextasm.cli.command_line import COMMANDS, load_command
from contextasm.cli.typer_commands import group
from contextasm.config.hosts.loader import host_names
from contextasm.config.input.settings import FILE_KEYS
from contextasm.config.input.yaml_loader import load_yaml
from tests.command import ROOT, SAMPLE, TIMEOUT, Result, clean, fill, inside

PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
"""The text of each page by its path."""

BRIEF = [page for page in PAGES if page in {"README.md", "docs/index.md"} or page.startswith("docs/start/")]
"""The pages for whoever has a minute."""
MOST_WORDS = 30
"""Words of a sentence of these pages."""
MOST_LINES = 150
"""Lines of README."""
TRIED = {*BRIEF, "docs/how-it-decides.md", *(page for page in PAGES if page.startswith("docs/how-to/"))}
"""The pages whose scripts run."""

_PART = re.compile(
    r"""^<!--\ workspace:\ (?P<workspace>\w+)\ -->$
    | ^<!--\ file\ (?P<hidden>[\w./-]+):\ (?P<content>.*?)\ -->$
    | (?:`(?P<path>[\w./-]*[./][\w./-]+)`:?\n\n)?
      (?:^<!--\ (?P<mark>not\ run|held\ by):\ (?P<reason>[^\n]+)\ -->\n\n?)?
      ^(?P<indent>\ *)```(?P<language>\w*)\n(?P<text>.*?)^\ *```$""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_WHOLE = re.compile(r"# .*\n+<!-- (not run|held by): (\S.*) -->\n")
_COMMAND = re.compile(
    r"""(?:^\ *|[|&;(]\ *|\bexec\ |\ --\ )(?:[A-Z_]+=\S*\ )*ctxasm\ (.*)""", re.MULTILINE | re.VERBOSE
)
_SIMPLE = re.compile(
    r"(?:uvx --from \S+ |python3 -m venv \.venv && \.venv/bin/pip install -q \. && \.venv/bin/)?"
    r"(?P<env>(?:[A-Z_]+=\S+ )*)(?:ctxasm|contextasm) (?P<words>(?:'[^']*'|\"[^\"$`]*\"|[^|<>$;&`'\"])+)"
)
"""A line that runs without a shell, which is quicker; however it installs the command, that is installed already."""
_ID = re.compile(r"\b(?:m-[0-9a-f]{12}|[0-9a-f]{16})\b")


class Block(NamedTuple):
    """A code block of a page, or a comment of it that is one of the languages `workspace` and `file`."""

    page: str
    line: int
    language: str
    text: str
    path: str
    """The path of the file that it is; empty for none."""
    mark: str
    """`not run` or `held by`, if a comment above says so; empty for none."""
    reason: str


def _blocks(page: str) -> Iterator[Block]:
    """The code blocks of a page, and its comments about files and workspaces."""
    whole = _WHOLE.match(PAGES[page])
    for part in _PART.finditer(PAGES[page]):
        line = PAGES[page].count("\n", 0, part.start("language" if part["language"] is not None else 0)) + 1
        if part["workspace"]:
            yield Block(page, line, "workspace", part["workspace"], "", "", "")
        elif part["hidden"]:
            yield Block(page, line, "file", f"{part['content']}\n", part["hidden"], "", "")
        else:
            text = re.sub(f"^{part['indent']}", "", part["text"], flags=re.MULTILINE)
            mark, reason = (part["mark"] or "", part["reason"] or "") if part["mark"] or not whole else whole.groups()
            yield Block(page, line, part["language"], text, part["path"] or "", mark, reason)


BLOCKS = [block for page in PAGES for block in _blocks(page)]


def _of(*languages: str) -> list[object]:
    """The blocks of some languages that no comment excepts, as parameters of a test."""
    return [
        pytest.param(block, id=f"{block.page}:{block.line}")
        for block in BLOCKS
        if block.language in languages and not block.mark
    ]


RUN = {"console", "sh", "yaml", "python", "workspace", "file"}
"""Languages of blocks that the tests below run or read."""

SHOWN = {"text", "md", "json", "sql"}
"""Languages of blocks that are only shown."""


def test_every_block_is_run_or_only_shown_or_says_why_not() -> None:
    unknown = [block for block in BLOCKS if block.language not in RUN | SHOWN and not block.mark]
    assert [f"{block.page}:{block.line}: {block.language or 'no language'}" for block in unknown] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_block_and_every_comment_is_found(page: str) -> None:
    found = [block for block in BLOCKS if block.page == page]
    assert len([block for block in found if block.language not in {"workspace", "file"}]) * 2 == PAGES[page].count(
        "```"
    )
    assert len([block for block in found if block.language in {"workspace", "file"}]) == len(
        re.findall("<!-- (?:workspace|file)", PAGES[page])
    )


def test_what_is_held_by_another_test_is_named_there() -> None:
    held = {(block.page, block.reason) for block in BLOCKS if block.mark == "held by"}
    assert held
    assert [
        (page, test) for page, test in sorted(held) if Path(page).name not in (ROOT / test).read_text("utf-8")
    ] == []


# --- What runs -------------------------------------------------------------------------------------------------------

SHOP = {
    "CLAUDE.md": "# Shop\n\nPrices are integers, in cents.\nThe style is in @docs/style.md.\n",
    "AGENTS.md": "# Agents\n\nRun `make test` before each commit.\nNever push to `main`.\n",
    "docs/style.md": "Use tabs. No function is longer than 40 lines.\n",
    ".cursor/rules/sql.mdc": '---\nglobs: "app/*.sql"\n---\nWrite SQL in lower case.\n',
}
RULES = "".join(
    f"- Rule {day}: the log of day {day} is closed before the next one is opened, and Ada is told.\n"
    for day in range(1, 261)
)
OPENCLAW = {
    "SOUL.md": "Be brief. Ask before you send anything to anybody.\n",
    "IDENTITY.md": "You are Kit, who looks after Ada's two servers.\n",
    "USER.md": "Ada. Time zone: Europe/Lisbon.\n",
    "AGENTS.md": f"# Agents\n\nRead MEMORY.md first.\n\n{RULES}\n## Last of all\n\nNever push on Fridays.\n",
    "MEMORY.md": "# Memory\n\n- The key of `forge` is in the safe, since 2 March.\n"
    "- Ada pays the rent of `anvil` on the first of the month.\n",
    "memory/2025-03-14.md": "- `forge` was down from 06:10 to 06:25: the certificate had expired.\n",
    "memory/2025-03-13.md": "- The disk of `anvil` is 91 % full: old backups deleted, now 60 %.\n"
    "- Ada wants a report each Friday.\n",
    "memory/2025-01-20.md": "- ssh to `forge` goes through port 2222, because the firewall closes 22.\n"
    "- Lunch with Bo.\n",
}
PAGE = {"key.md": "---\nname: key\ndescription: where the key is\ntype: user\n---\nThe key is in the safe.\n"}


def environment(folder: Path) -> dict[str, str]:
    """The day, the programs of this Python, and `llm` with a model that answers its prompt."""
    return {
        "CTXASM_DATE": "2025-03-14",
        "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
        "LLM_USER_PATH": str(fill(folder.parent / "llm", {"default_model.txt": "echo"}, base={})),
        **{f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }


def by_shell(script: str, folder: Path) -> Result:
    """What a script of a shell comes to."""
    words = ["sh", "-ec", script]
    env = clean(environment(folder))
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def simple(line: str) -> re.Match[str] | None:
    """A line that needs no shell."""
    return _SIMPLE.fullmatch(line.partition("  #")[0].rstrip())


def sample(folder: Path) -> None:
    """The sample workspace."""
    shutil.copytree(SAMPLE, folder)


def repository(folder: Path) -> None:
    """A clone of the repository, as far as commands on a page need it."""
    shutil.copytree(SAMPLE, folder / "sample_workspace")


def changed(folder: Path) -> None:
    """The sample workspace in a git repository, with four commits and a change."""
    sample(folder)
    script = "git init -q; for n in 1 2 3 4; do echo $n >> agents/luna/KNOWLEDGE.md; git add .; git commit -qm $n; done"
    result = by_shell(f"{script}; echo 5 >> agents/luna/KNOWLEDGE.md", folder)
    assert result.code == 0, result.err


WORKSPACES: Mapping[str, Callable[[Path], object]] = {
    "sample": sample,
    "repository": repository,
    "changed": changed,
    "empty": lambda folder: folder.mkdir(),
    "shop": lambda folder: fill(folder, SHOP, base={}),
    "openclaw": lambda folder: fill(folder, OPENCLAW, base={}),
    "pages": lambda folder: fill(folder, PAGE, base={}),
}


class Reader:
    """Somebody who follows a page."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.folder = place / "page"
        self.last_id = "ID"

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        if block.language == "workspace":
            self.folder = self.place / f"{block.line}"
            WORKSPACES[block.text](self.folder)
            return
        if not self.folder.exists():
            sample(self.folder)
        is_script = block.language == "sh"
        if block.path and (not is_script or block.text.startswith("#!")) and block.language != "console":
            fill(self.folder, {block.path: block.text}, base={})
            (self.folder / block.path).chmod(0o755 if is_script else 0o644)
        elif block.language == "console":
            for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                self.compare(*step.splitlines())
        elif is_script and block.page in TRIED:
            lines = [line for line in block.text.splitlines() if line]
            for line in lines if all(simple(line) for line in lines) else [block.text]:
                result = self.run(line)
                assert result.code == 0 or (result.code == 1 and "exit 1" in line), (line, result)

    def run(self, line: str) -> Result:
        """What a line comes to."""
        line = re.sub(r"\bID\b", self.last_id, line)
        if match := simple(line):
            own = dict(each.split("=", 1) for each in shlex.split(match["env"]))
            env = {**environment(self.folder), **own}
            result = inside(*shlex.split(match["words"]), cwd=self.folder, env=env)
        else:
            result = by_shell(line, self.folder)
        if named := _ID.search(result.out + result.err):
            self.last_id = named[0]
        return result

    def compare(self, command: str, *shown: str) -> None:
        """Run a line: it prints each of the lines that are shown, in this order."""
        result = self.run(command)
        assert result.code in {0, 1}, (command, result)
        printed = iter([" ".join(line.split()) for line in (result.out + result.err).splitlines()])
        for line in shown:
            pattern = re.escape(" ".join(line.split())).replace(re.escape("..."), ".*")
            if line not in {"", "..."} and not any(re.fullmatch(pattern, text) for text in printed):
                pytest.fail(
                    f"`{command}` does not print, in this order:\n{line}\n\nIt prints:\n{result.out}{result.err}"
                )


@pytest.mark.parametrize(
    "page", sorted({block.page for block in BLOCKS if block.language in {"console", "sh"} and not block.mark})
)
def test_what_a_page_shows_is_what_happens(page: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    for block in BLOCKS:
        if block.page == page and not block.mark:
            reader.follow(block)


def _command_lines(text: str) -> Iterator[tuple[str, ...]]:
    """The words after `ctxasm` of each command line in a text for a shell."""
    for match in _COMMAND.finditer(text.replace("\\\n", " ")):
        words = shlex.shlex(match[1], posix=True, punctuation_chars=True)
        words.whitespace_split = True
        yield tuple(_until_punctuation(words))


def _until_punctuation(words: Iterator[str]) -> Iterator[str]:
    for word in words:
        if {*word} <= {*"();<>|&"}:
            return
        yield word


def _refusal(words: Sequence[str]) -> str:
    """Why a command line can't be parsed; empty if it can."""
    name, *rest = words or ("--help",)
    if name in {"help", "--version", "--help", "-h"}:
        return ""
    if name not in COMMANDS:
        return f"there is no command {name}"
    if load_command(name).read(rest) is None:
        try:
            group().get_command(None, name).make_context(name, list(rest))
        except typer.Exit:
            pass
        except Exception as error:  # noqa: BLE001 - whatever typer raises is the answer
            return f"{name}: {error}"
    return ""


@pytest.mark.parametrize("block", _of("sh"))
def test_commands_to_copy_can_be_parsed(block: Block) -> None:
    lines = [*_command_lines(block.text)]
    assert [why for words in lines if (why := _refusal(words))] == []
    assert lines or not re.search("^ctxasm ", block.text, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_flags_in_a_text_exist(page: str) -> None:
    text = re.sub(r"^ *```.*?^ *```$", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    for span in re.findall(r"`(ctxasm [a-z][^`]*)`", text):
        name, *words = next(_command_lines(span.replace("\n", " ")))
        assert name in {*COMMANDS, "help"}, span
        flags = {flag for each in load_command(name).parameters for flag in each.names} if name in COMMANDS else set()
        assert [word for word in words if re.fullmatch("--[a-z-]+", word) and word not in {*flags, "--help"}] == [], (
            span
        )


# --- What is read ----------------------------------------------------------------------------------------------------


def _kind(value: object) -> str:
    """Which file of a workspace a block of YAML is."""
    first = value[0] if isinstance(value, list) else value
    assert isinstance(first, dict)
    keys = {*first}
    if keys & {"when", "then"}:
        return "rules/page.yaml"
    if keys & {"extends", "summary"}:
        return "page.yaml"
    assert keys <= {*FILE_KEYS}, f"{keys}: neither settings nor a profile nor rules: say with a comment what it is"
    return "ctxasm.yaml"


@pytest.mark.parametrize("block", _of("yaml"))
def test_settings_profiles_and_rules_can_be_read(tmp_path: Path, block: Block) -> None:
    path = _kind(load_yaml(block.text, block.path))
    files = dict.fromkeys((f"agents/luna/{name}.md" for name in ("IDENTITY", "INSTRUCTIONS")), "Luna.\n")
    folder = fill(tmp_path, {**files, "teams/q1/GOALS.md": "Ship.\n", path: block.text}, base={})
    words = {"rules/page.yaml": ["rules"], "page.yaml": ["config", "-p", "./page.yaml"], "ctxasm.yaml": ["config"]}[
        path
    ]
    assert inside(*words, cwd=folder).err == ""


@pytest.mark.parametrize("block", _of("python"))
def test_programs_run(block: Block) -> None:
    with chdir(ROOT), redirect_stdout(StringIO()) as printed:
        exec(compile(block.text, block.page, "exec"), {})  # noqa: S102 - it is ours
    assert printed.getvalue()


# --- Links -----------------------------------------------------------------------------------------------------------


def _anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", heading.lower())) for heading in headings}


LINKING = {
    **PAGES,
    **{name: (ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "RELEASE-CHECKLIST.md")},
}


@pytest.mark.parametrize("page", LINKING)
def test_links_lead_somewhere(page: str) -> None:
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", LINKING[page]):
        path, _, anchor = re.sub("#gh-(light|dark)-mode-only$", "", link).partition("#")  # an image of one theme
        if ":" in path:
            continue
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in _anchors(target.read_text(encoding="utf-8"))):
            lost.append(link)
    assert lost == []


# --- What is short ---------------------------------------------------------------------------------------------------


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page, without code, comments and addresses of links; a cell of a table ends one."""
    text = re.sub(r"(?ms)^```.*?^```$|<!--.*?-->|^<.*?>$", "\n\n", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=[-#|0-9])|\|", text):
        yield from re.split(r"(?<=[.?!])\s", " ".join(paragraph.split()))


@pytest.mark.parametrize("page", BRIEF)
def test_no_sentence_is_long(page: str) -> None:
    assert [each for each in sentences(PAGES[page]) if len(each.split()) > MOST_WORDS] == []


@pytest.mark.parametrize(("page", "form"), [("README.md", "{}"), ("docs/how-to/check-host.md", "../hosts/{}.md")])
def test_every_host_is_named(page: str, form: str) -> None:
    assert [name for name in host_names() if form.format(name) not in PAGES[page]] == []


def test_readme_is_short() -> None:
    assert len(PAGES["README.md"].splitlines()) <= MOST_LINES


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/hosts/")])
def test_our_commands_on_the_page_of_a_host_run(page: str, tmp_path: Path) -> None:
    setup = PAGES[page].partition("```sh\n")[2].partition("```")[0]
    commands = [words.split() for words in re.findall(r"ctxasm ((?:hook|check) [\w -]+)", setup)]
    assert commands
    folder = fill(tmp_path, {})
    for words in commands:
        assert "ctxasm: error" not in inside(*words, cwd=folder).err
