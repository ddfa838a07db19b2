"""Skills as a host lists them when a session starts: whole, cut, by name only, or not at all.

Only lists are looked at: a host reads the text of a skill when it uses it.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Literal

from contextasm.checks.skills import SKILL_FILE, skill_fields, skill_text
from contextasm.config.hosts.loader import SkillRule
from contextasm.model import NamedTuple
from contextasm.selection.tokens import LENGTHS


class Skill(NamedTuple):
    """One skill."""

    path: str
    """Its path, from the top of the repository, or from the home folder with `~/` before it."""
    name: str
    """Its name."""
    description: str
    """Its description in one line, with all that the host adds to it."""
    kept: int
    """The number of characters of the description that the host lists."""
    outcome: Literal["whole", "cut", "name only", "absent", "on request", "unknown"] = "whole"
    """How much of it the host lists."""
    why: str = ""
    """Why it is not listed whole; empty for one that is."""

    @property
    def is_crowded_out(self) -> bool:
        """Whether only a list that is too long keeps the host from listing it whole."""
        return self.why.startswith(_CROWDED)


OVERRIDDEN = "it is overridden by "
OF_OTHERS = "its folder is for other programs"
_CROWDED = "the list is too long"


def list_skills(rule: SkillRule, found: Sequence[tuple[str, str]], window: int) -> Sequence[Skill]:
    """The skills in the files that a session finds, path and text, with what is listed of them.

    The first file with a name wins; copies of it are left out. `window` is in tokens; for 0 the host's own counts.
    """
    skills: list[Skill] = []
    winners: dict[str, tuple[str, str]] = {}
    for path, text in found:
        skill = _found_skill(rule, path, text)
        winner, same = winners.setdefault(skill.name, (path, text))
        if winner == path or (rule.repeats and text != same):
            skills.append(skill)
        elif text != same:
            skills.append(skill._replace(kept=0, outcome="absent", why=OVERRIDDEN + winner))
    listed, room = listed_skills(rule, skills), list_room(rule, window)
    left: Sequence[Skill] = []
    if rule.over == "unknown":
        left = [skill._replace(outcome="unknown", why="the limit of the list is unknown") for skill in listed]
    elif rule.over == "used" and list_units(rule, listed) > room:
        why = f"{_CROWDED}, and only the skills that are used most stay whole"  # no file says which these are
        left = [skill._replace(kept=0, outcome="name only", why=why) for skill in listed]
    elif rule.over == "even" and (list_units(rule, listed) > room or len(listed) > (rule.most or len(listed))):
        left = _shortened_evenly(rule, listed, room)
    by_path = {skill.path: skill for skill in left}
    return [by_path.get(skill.path, skill) for skill in skills]


def skill_of_others(path: str, text: str) -> Skill:
    """A skill in a folder that the host does not search."""
    name = skill_text(skill_fields(text, path)[0], "name")
    return Skill(path, name or _folder_name(path), "", 0, "absent", OF_OTHERS)


def _found_skill(rule: SkillRule, path: str, text: str) -> Skill:
    """A skill with what the host lists of it in a list with room for all."""
    values, body, _ = skill_fields(text, path)
    description = skill_text(values, "description")
    if not description and not rule.strict:
        description = next(filter(None, (line.strip("# \t\r") for line in body.split("\n"))), "")
    description += f" - {more}" if rule.also and (more := skill_text(values, rule.also)) else ""
    skill = Skill(path, skill_text(values, "name") or _folder_name(path), description, len(description))
    if key := next((key for key in rule.hidden if skill_text(values, key) not in {"", "False", "false"}), ""):
        return skill._replace(kept=0, outcome="on request", why=f"its front matter has {key}")
    if rule.strict and not description:
        return skill._replace(outcome="absent", why="it has no description")
    if not rule.each or len(description) <= rule.each:
        return skill
    if rule.strict:
        return skill._replace(kept=0, outcome="absent", why=f"its description has more than {rule.each:,} characters")
    return skill._replace(kept=rule.each - rule.marker, outcome="cut", why=f"{rule.each:,} characters of each")


def _folder_name(path: str) -> str:
    folder, name = posixpath.split(path)
    return posixpath.basename(folder) if name == SKILL_FILE else posixpath.splitext(name)[0]


def listed_skills(rule: SkillRule, skills: Sequence[Skill]) -> Sequence[Skill]:
    """The skills that the host would list if it had room for all, each with what it would list of it."""
    listed = [skill for skill in skills if skill.outcome in {"whole", "cut", "unknown"} or skill.is_crowded_out]
    lengths = [len(skill.description) for skill in listed]
    most = rule.each or max(lengths, default=0)
    kept = [length if length <= most else most - rule.marker for length in lengths]
    return [skill._replace(kept=length) for skill, length in zip(listed, kept, strict=True)]


def list_room(rule: SkillRule, window: int) -> int:
    """Units that the list of a host may take; 0 for no limit."""
    return rule.limit or max((window or rule.window) * rule.per_token * rule.share // 100, bool(rule.share))


def list_units(rule: SkillRule, skills: Sequence[Skill]) -> int:
    """Units that the list of some skills takes, each with as much of its description as is kept."""
    return rule.around + sum(_units(rule, skill, skill.kept) for skill in skills)


def _units(rule: SkillRule, skill: Skill, kept: int) -> int:
    words = {"NAME": skill.name, "DESCRIPTION": skill.description[:kept], "FOLDER": _folder_name(skill.path)}
    parts = re.split("(NAME|DESCRIPTION|FOLDER)", rule.line if kept else rule.bare)
    line = "".join(words.get(part, part) for part in parts) + "\n"
    return LENGTHS["chars"].units(line) if rule.unit == "chars" else -(-LENGTHS["bytes"].units(line) // 4)


def _shortened_evenly(rule: SkillRule, skills: Sequence[Skill], room: int) -> Sequence[Skill]:
    """The skills with descriptions of one length at most; if even their names take too much, only the first names."""
    in_order = sorted(skills, key=lambda skill: (skill.path.startswith("~/"), skill.name, skill.path))
    sums = accumulate((_units(rule, skill, 0) for skill in in_order), initial=rule.around)
    count = min(bisect_right([*sums][1:], room), rule.most or len(in_order))
    shown = in_order[:count]

    def shortened(most: int) -> list[Skill]:
        return [skill._replace(kept=min(skill.kept, most)) for skill in shown]

    longest = min(max((skill.kept for skill in shown), default=0), rule.shorter or len(rule.line) + room)
    most = bisect_right(range(1, longest + 1), room, key=lambda length: list_units(rule, shortened(length)))
    short = [each._replace(outcome="cut" if most else "name only", why=_CROWDED) for each in shortened(most)]
    absent = [skill._replace(kept=0, outcome="absent", why=_CROWDED) for skill in in_order[count:]]
    return [each for each, skill in zip(short, shown, strict=True) if each.kept < skill.kept] + absent


def least_lost(rule: SkillRule, listed: Sequence[Skill], room: int) -> int:
    """The least number of descriptions that must go for the names and the other descriptions to have room."""
    gains = sorted((_units(rule, skill, skill.kept) - _units(rule, skill, 0) for skill in listed), reverse=True)
    return min(bisect_left([0, *accumulate(gains)], list_units(rule, listed) - room), len(gains))
