"""Check of skills: whether a SKILL.md keeps to the specification at agentskills.io.

Keys that only some hosts know are allowed. What hosts list of a skill is in `checks/hosts/skills.py`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from contextasm.checks.finding import Finding, note_finding, warning_finding
from contextasm.checks.inspection import Inspection
from contextasm.config.hosts.loader import skill_files
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.model import ContextasmError, Document
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.markdown.front_matter import front_matter
from contextasm.text.names.matching import nearest

SKILL_FILE = "SKILL.md"
"""Name of the file of a skill, in a folder with the name of the skill."""

_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_NAME = r"(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*"
_MOST = {"description": 1024, "compatibility": 500}
_MOST_LINES, _MOST_TOKENS = 500, 5000

SkillFields = tuple[Mapping[str, object], str, tuple[int, str] | None]
"""Front matter of a skill, the text below it, and line and words of a fault if the front matter is not YAML."""


def check_skills(inspection: Inspection) -> Iterator[Finding]:
    """Report what in a SKILL.md is against the specification."""
    for path in dict.fromkeys(path for pattern in skill_files() for path in inspection.workspace.list(pattern)):
        document = inspection.workspace.read(path)
        if isinstance(document, Document) and not document.lacks_private:
            yield from skill_findings(path, document.data.decode("utf-8", "replace"))


def skill_findings(path: str, text: str) -> Iterator[Finding]:
    """The findings of a SKILL.md, by the specification."""
    folder = posixpath.basename(posixpath.dirname(path))
    values, body, fault = skill_fields(text, path)
    if fault:
        yield warning_finding(path, *fault, "put the value in quotes, because some hosts skip such a skill")
    for words in _faults(values, skill_text(values, "name"), folder):
        yield warning_finding(path, 1, *words)
    for key in (key for key in values if key not in _KEYS):
        if near := nearest(key, _KEYS, 0.8):
            yield note_finding(path, 1, f"`{key}` is not a key of the specification", f"did you mean {near}?")
    if body.count("\n") > _MOST_LINES or ESTIMATE.count(body) > _MOST_TOKENS:
        message = f"the text has more than {_MOST_LINES} lines or {_MOST_TOKENS:,} tokens"
        yield note_finding(path, 0, message, "move parts that are not always needed into files next to it")


def _faults(values: Mapping[str, object], name: str, folder: str) -> Iterator[tuple[str, str]]:
    """Message and hint of each fault of the front matter."""
    if not values:
        begin = f"begin the file with the lines `---`, `name: {folder}`, `description: ...` and `---`"
        yield "the skill has no front matter, so it has no name and no description", begin
    elif not name:
        yield "the skill has no name", f"write `name: {folder}`"
    elif not re.fullmatch(_NAME, name):
        yield (f"`{name}` is not a valid name", "use 1 to 64 of a-z and 0-9, with single hyphens between")
    elif name != folder:
        yield f"the skill {name} is in the folder {folder}", "give both the same name"
    if values and not skill_text(values, "description"):
        yield "the skill has no description", "write `description:` with what the skill does, and when to use it"
    for key, most in _MOST.items():
        if (over := len(skill_text(values, key)) - most) > 0:
            yield (f"the {key} has more than {most:,} characters", f"shorten it by {over:,}, or some hosts skip it")


def skill_fields(text: str, path: str) -> SkillFields:
    """The parts of the text of a skill."""
    match = re.match(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*$\r?\n?", text, re.DOTALL | re.MULTILINE)
    if not match:
        return {}, text, None
    try:
        values = load_yaml(match[1], path)
    except ContextasmError as error:
        line = int("0" + error.where.rpartition(":")[2]) + 1
        # Hosts that read it anyway take each line for a key and its value.
        lines = front_matter(text.removeprefix("\ufeff").split("\n")).values
        return lines, text[match.end() :], (line, f"the front matter can't be read: {error.what}")
    return (values if isinstance(values, dict) else {}), text[match.end() :], None


def skill_text(values: Mapping[str, object], key: str) -> str:
    """The value of a key in one line; empty for none."""
    value = values.get(key)
    return " ".join(str("" if value is None else value).split())
