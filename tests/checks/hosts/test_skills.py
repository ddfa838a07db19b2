"""Skills that a host lists, the person's own files, and directives of all files together."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.checks.hosts.skills import list_room, list_skills, list_units
from contextasm.config.hosts.loader import host_names, load_host
from tests.command import fill, inside

RULES = {name: rule for name in host_names() if (rule := load_host(name, "test").skills)}


def skill(number: int, length: int) -> tuple[str, str]:
    """Path and text of a skill with a description of this length."""
    name = f"skill-{number:03}"
    return f"skills/{name}/SKILL.md", f"---\nname: {name}\ndescription: {'x' * length}\n---\nDo it.\n"


@pytest.mark.parametrize(
    ("host", "top", "outcome", "kept", "words"),
    [
        # The first two as Codex 0.169.0 and Claude Code 2.1.330 sent them.
        (
            "codex",
            ".agents/",
            "cut",
            300,
            "in a window of 272,000 tokens, 280 of them for the host's own skills and text: 60 cut",
        ),
        (
            "claude-code",
            ".claude/",
            "name only",
            0,
            "36,210 of 30,000 characters in a window of 1,000,000 tokens, 6,210 of them for the host's own",
        ),
        ("openclaw", "", "cut", 138, "500 of them for the host's own skills and text: 60 cut after 138 characters"),
        ("gemini", ".gemini/", "whole", 579, "no file in this folder"),
    ],
)
def test_sixty_skills(host: str, top: str, outcome: str, kept: int, words: str, tmp_path: Path) -> None:
    texts = dict(skill(number, 399 + number % 7 * 30) for number in range(60))
    folder = fill(tmp_path, {f"{top}{path}": text for path, text in texts.items()}, base={})
    skills = json.loads(inside("explain", "--host", host, "--json", cwd=folder).out)["skills"]
    assert Counter(each["outcome"] for each in skills) == {outcome: 60}
    assert max(each["kept"] for each in skills) == kept
    assert words in inside("check", "--host", host, cwd=folder).out


@given(st.sampled_from(sorted(RULES)), st.lists(st.integers(1, 2000), max_size=60), *[st.integers(1, 10**6)] * 2)
def test_a_larger_window_lists_no_less(host: str, lengths: list[int], window: int, more: int) -> None:
    rule, found = RULES[host], [skill(number, length) for number, length in enumerate(lengths)]
    small, large = (list_skills(rule, found, tokens) for tokens in (window, window + more))
    assert all(one.kept <= other.kept for one, other in zip(small, large, strict=True))
    kept = [each for each in small if each.outcome != "absent"]
    bare = list_units(rule, [each._replace(kept=0) for each in kept])
    assert list_units(rule, kept) <= max(list_room(rule, window) or 10**9, bare)


HOME = {
    ".claude/CLAUDE.md": "Canary: use tabs in Python.\n- Run the tests before you push.\n",
    ".claude/skills/own/SKILL.md": "---\nname: own\ndescription: Canary.\n---\n",
    ".codex/AGENTS.md": "Canary.\n",
    ".codex/AGENTS.override.md": "Canary: never.\n\nNever use tabs in Python.\n",
}
FILES = {".git/HEAD": "", "CLAUDE.md": "- Run the tests before you push.\n", "AGENTS.md": "Use tabs in Python.\n"}


def test_only_the_flag_reads_the_home(tmp_path: Path) -> None:
    """P12: no other command, no setting and no variable does; with it, all directives are compared."""
    folder = fill(tmp_path / "folder", FILES, base={})
    env = {"HOME": str(fill(tmp_path / "home", HOME, base={})), "CTXASM_HOST_HOME": "true"}

    def shown(*words: str) -> str:
        done = inside(*words, cwd=folder, env=env)
        return done.out + done.err

    commands = [("build", "-p", "repo"), ("check",), ("hook", "--for", "claude-code"), ("build", "--host-home")]
    commands += [(name, "--host", host) for host in RULES for name in ("check", "explain")]
    for settings in ("", "host_home: true\n"):
        (folder / "ctxasm.yaml").write_text(settings)
        texts = [shown(*words) for words in commands]
        assert not [text for text in texts if "Canary" in text or "skills/own" in text or "AGENTS.override" in text]
    done = shown("check", "--host", "codex", "--host-home")
    opposite = '"Never use tabs in Python" contradicts "Use tabs in Python" in AGENTS.md'
    assert f"~/.codex/AGENTS.override.md:3: warning: {opposite}" in done
    assert "~/.codex/AGENTS.md: note: Codex does not load this file: it is overridden by ~/.codex/AGENTS.ov" in done
    done = shown("check", "--host", "claude-code", "--host-home")
    assert (
        '~/.claude/CLAUDE.md:2: note: the file repeats a directive of CLAUDE.md: "Run the tests before you push' in done
    )
    assert "~/.claude/skills/own/SKILL.md  whole" in shown("explain", "--host", "claude-code", "--host-home")
    for count in (150, 151):
        (folder / "AGENTS.md").write_text("".join(f"- Use part {number} of the kit.\n" for number in range(count)))
        assert ("Codex loads 151 directives" in shown("check", "--host", "codex")) is (count > 150)
