"""Every block of code on a page is run, or a mark says why it is not.

A page is followed from its first line to its last on 14 March 2025, in a copy of the sample workspace, or from
`<!-- workspace: NAME -->` on in one of `WORKSPACES`.

- `console`: a line that begins with `$` is run, and the lines below it are printed, in this order. `...` stands for any
  text, and on a line of its own for any lines. Numbers of blanks do not matter.
- `sh`: a script that ends with 0. If a line says `exit 1`, that line may end with 1, too.
- `ID` in a command is the id of the memory or the record that the last command named first.
- A block after a line that is a path in backquotes is that file. A script becomes executable.
- Other `yaml` and `json` is parsed, `python` is run, and `text` and `md` are for the eye.
- A block after `<!-- not run: REASON -->` is not run.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from tests.command import ROOT, SAMPLE, TIMEOUT, Result, clean, fill, inside

PAGES = ("README.md", "docs/how-it-decides.md", "docs/memories.md", "docs/start/*.md", "docs/how-to/*.md")
BRIEF = ("README.md", "docs/start/*.md")
"""The pages for whoever has a minute."""
MOST_WORDS = 30
"""Words of a sentence of these pages."""
MOST_LINES = 150
"""Lines of README."""
PART = re.compile(
    r"^<!-- workspace: (?P<workspace>\w+) -->$"
    r"|(?:^<!-- not run: (?P<reason>[^\n]+) -->\n\n)?(?:^`(?P<file>[^`\n]+)`\n\n)?"
    r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SIMPLE = re.compile(
    r"(?:uvx --from \S+ |python3 -m venv \.venv && \.venv/bin/pip install -q \. && \.venv/bin/)?"
    r"(?P<env>(?:[A-Z_]+=\S+ )*)(?:ctxasm|contextasm) (?P<words>(?:'[^']*'|\"[^\"$`]*\"|[^|<>$;&`'\"])+)"
)
"""A line that is run without a shell, which is quicker; however it installs the command, that is installed already."""
ID = re.compile(r"\b(?:m-[0-9a-f]{12}|[0-9a-f]{16})\b")

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
LUNA = {
    f"agents/luna/{name}.md": f"{text}\n" for name, text in [("IDENTITY", "I am Luna."), ("INSTRUCTIONS", "Write.")]
}
PAGE = {"key.md": "---\nname: key\ndescription: where the key is\ntype: user\n---\nThe key is in the safe.\n"}


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
    result = by_shell(f"{script}; echo 5 >> agents/luna/KNOWLEDGE.md", folder, environment(folder))
    assert result.code == 0, result.err


WORKSPACES: Mapping[str, Callable[[Path], object]] = {
    "sample": sample,
    "repository": repository,
    "changed": changed,
    "empty": lambda folder: folder.mkdir(),
    "luna": lambda folder: fill(folder, LUNA, base={}),
    "shop": lambda folder: fill(folder, SHOP, base={}),
    "openclaw": lambda folder: fill(folder, OPENCLAW, base={}),
    "pages": lambda folder: fill(folder, PAGE, base={}),
}

PARSED: Mapping[str, Callable[[str], object]] = {"yaml": yaml.safe_load, "json": json.loads, "text": str, "md": str}
"""What is done with a block that is neither run nor a file."""


def found(patterns: Sequence[str]) -> list[str]:
    """The pages of these patterns, as paths in the repository."""
    return [str(page.relative_to(ROOT)) for pattern in patterns for page in sorted(ROOT.glob(pattern))]


def environment(folder: Path) -> dict[str, str]:
    """The day, the programs of this Python, and `llm` with a model that answers its prompt."""
    return {
        "CTXASM_DATE": "2025-03-14",
        "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
        "LLM_USER_PATH": str(fill(folder.parent / "llm", {"default_model.txt": "echo"}, base={})),
        **{f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }


def by_shell(script: str, folder: Path, env: Mapping[str, str]) -> Result:
    """What a script of a shell comes to."""
    words = ["sh", "-ec", script]
    done = subprocess.run(
        words, cwd=folder, env=clean(env), capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    return Result(done.returncode, done.stdout, done.stderr)


class Reader:
    """Somebody who follows a page."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.folder = place / "0"
        self.last_id = "ID"

    def enter(self, workspace: str) -> None:
        """Go on in a new workspace."""
        self.folder = self.place / f"{workspace}{len([*self.place.iterdir()])}"
        WORKSPACES[workspace](self.folder)

    def follow(self, part: re.Match[str]) -> None:
        """Do what a block says."""
        if not self.folder.exists():
            sample(self.folder)
        kind, text = part["kind"], part["text"]
        if part["file"]:
            fill(self.folder, {part["file"]: text}, base={})
            if text.startswith("#!"):
                (self.folder / part["file"]).chmod(0o755)
        elif kind == "console":
            for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                self.compare(*command.splitlines())
        elif kind == "sh":
            lines = [line for line in text.splitlines() if line.strip()]
            for line in lines if all(simple(line) for line in lines) else [text]:
                result = self.run(line)
                assert result.code == 0 or (result.code == 1 and "exit 1" in line), (line, result)
        elif kind == "python":
            result = self.run(f"{shlex.quote(sys.executable)} -c {shlex.quote(text)}")
            assert (result.code, result.err, result.out != "") == (0, "", True)
        else:
            PARSED[kind](text)

    def run(self, line: str) -> Result:
        """What a line comes to."""
        line = re.sub(r"\bID\b", self.last_id, line)
        env = environment(self.folder)
        if match := simple(line):
            own = dict(each.split("=", 1) for each in shlex.split(match["env"]))
            result = inside(*shlex.split(match["words"]), cwd=self.folder, env={**env, **own})
        else:
            result = by_shell(line, self.folder, env)
        if named := ID.search(result.out + result.err):
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


def simple(line: str) -> re.Match[str] | None:
    """A line that needs no shell."""
    return SIMPLE.fullmatch(line.partition("  #")[0].rstrip())


@pytest.mark.parametrize("page", found(PAGES))
def test_what_a_page_shows_is_what_happens(page: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    for part in PART.finditer((ROOT / page).read_text(encoding="utf-8")):
        if part["workspace"]:
            reader.enter(part["workspace"])
        elif not part["reason"]:
            reader.follow(part)


@pytest.mark.parametrize("page", found(PAGES))
def test_every_block_of_a_page_is_found(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    parts = [*PART.finditer(text)]
    assert len([part for part in parts if part["text"] is not None]) * 2 == text.count("```")
    assert len([part for part in parts if not part["text"] or part["reason"]]) == text.count(
        "<!-- workspace"
    ) + text.count("<!-- not run")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page, without code, comments and addresses of links; a cell of a table ends one."""
    text = re.sub(r"(?ms)^```.*?^```$|<!--.*?-->|^<.*?>$", "\n\n", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=[-#|0-9])|\|", text):
        yield from re.split(r"(?<=[.?!])\s", " ".join(paragraph.split()))


@pytest.mark.parametrize("page", found(BRIEF))
def test_no_sentence_is_long(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [each for each in sentences(text) if len(each.split()) > MOST_WORDS] == []


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("page", found(("docs/hosts/*.md",)))
def test_our_commands_on_the_page_of_a_host_run(page: str, tmp_path: Path) -> None:
    setup = (ROOT / page).read_text(encoding="utf-8").partition("```sh\n")[2].partition("```")[0]
    commands = [words.split() for words in re.findall(r"ctxasm ((?:hook|check) [\w -]+)", setup)]
    assert commands
    folder = fill(tmp_path, {})
    for words in commands:
        assert "ctxasm: error" not in inside(*words, cwd=folder).err
