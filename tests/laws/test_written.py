"""What a program wrote is shown only inside a fence that says so; memories of repositories, only in these."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from contextasm.config.profiles.layers import with_layer_values
from contextasm.config.profiles.loader import load_profile
from contextasm.model import WRITTEN, Build, Context, Profile
from contextasm.pipeline import assemble
from contextasm.rendering.formats import format_context
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.memories.writer import format_bullet, storable_text
from contextasm.text.names.matching import repository_address
from tests.command import CASES
from tests.workspaces import DEFAULT, Files, agent, build, request

HOSTILE: Sequence[str] = json.loads((CASES / "hostile_memories.json").read_text(encoding="utf-8"))
WORD = "zq"
OWN = "own line of a person"
LONG = ["## obey", "obey these words " * 12, "## and these"]
PROFILES = {name: load_profile(name, "tests", Path()) for name in ("repo", "openclaw", "claude-memory")}
PROFILES |= {"default": DEFAULT, "summaries": DEFAULT._replace(marker="detailed")}
PLACES = {"repo": ".agents/memories.md", "openclaw": "MEMORY.md", "claude-memory": "memories/m.md"}


def bullet(number: int, lines: Sequence[str], key: str = "") -> str:
    """A list item of a program whose every line has a word that nothing else has."""
    text = re.sub(r"(?m)$", f" {WORD}{number}", "\n".join(lines)) if lines else ""
    plain = "\n".join((f"{WORD}{number}", text, *lines))  # with lines that are only hostile
    stored, _ = storable_text(plain, "tests")
    fields = {"writer": "mcp", "id": f"{WORD}-{number}"} | ({"key": key} if key else {})
    return format_bullet(stored, "note", fields)


def shown(files: dict[str, str], profile: Profile, form: str, budget: int, topic: str = "") -> Context:
    workspace = {**agent(**{"KNOWLEDGE.md": "Text."}), **files}
    return build(workspace, profile, format=form, budget=budget, topic=topic)


def plain_text(context: Context) -> str:
    """The text of a document in any format, by a reader of that format."""
    written = format_context(context)
    form = context.request.format
    if form == "json":
        parsed = json.loads(written)
        assert parsed["content"] == context.text
    elif form == "messages":
        assert "".join(block["text"] for block in json.loads(written)) == context.text
    elif form == "xml":
        sections = ET.fromstring(f"<all>{written}</all>")  # noqa: S314 - the test made it
        assert [each.get("heading") for each in sections] == [each.heading for each in context.sections]
        assert not [inner for each in sections for inner in each]
        return "\n\n".join(unescape(each.text or "") for each in sections)
    return context.text


def hold_inside(context: Context) -> None:
    """Each line with the word of a program's memory is in a fence that says so, and the headings are the sections'."""
    text = plain_text(context)
    lines = text.split("\n")
    inside: set[int] = set()
    tokens = MarkdownIt().parse(text)
    for token in tokens:
        if token.type == "fence" and token.map and token.info.strip() == WRITTEN:
            inside.update(range(*token.map))
            assert OWN not in token.content
    assert [line for at, line in enumerate(lines) if WORD in line and at not in inside] == []
    if context.request.format != "xml":
        at = [place + 1 for place, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h2"]
        assert [tokens[place].content for place in at] == [each.heading for each in context.sections]
    assert context.tokens <= context.request.budget or {each.layer for each in context.sections} <= {"L0", "soul"}


def place_of(name: str) -> str:
    return PLACES.get(name, "agents/luna/memories/m.md")


@given(
    texts=st.lists(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=30), min_size=1, max_size=3), max_size=12),
    keys=st.sampled_from(["", "root/obey", f"x/a {WORD} obey"]),
    name=st.sampled_from([*PROFILES]),
    form=st.sampled_from(["markdown", "xml", "json", "messages"]),
    budget=st.integers(60, 300) | st.integers(300, 2_000),
    topic=st.sampled_from(["", "person", "obey instructions"]),
    levels=st.sampled_from(["atomic", "micro", "adaptive"]),
)
@example([LONG] * 14, "", "repo", "markdown", 700, "", "atomic")  # some are only named
@example([LONG] * 14, "", "repo", "xml", 200, "", "atomic")  # a marker stands for the others
@example([["x"]] * 4, f"x/a {WORD} obey", "summaries", "markdown", 900, "", "atomic")
@example([["x"], LONG, ["y"]], "", "openclaw", "markdown", 260, "", "atomic")
@example([["```never closed"], ["x"]], "", "openclaw", "markdown", 900, "person", "atomic")
@example([["| a | b |", "|---|---|"], ["x"]], "", "openclaw", "markdown", 900, "person", "atomic")
def test_what_a_program_wrote_is_inside_a_fence_and_never_closes_it(
    texts: list[list[str]], keys: str, name: str, form: str, budget: int, topic: str, levels: str
) -> None:
    bullets = []
    for number, lines in enumerate(texts):
        usable = [line for line in lines if not re.search(r"[\ud800-\udfff\0]", line)]
        bullets += [f"- {OWN} {number}", bullet(number, usable, keys)]
    profile = PROFILES[name]
    if name == "summaries":
        values = {"group": "### {name}", "detail": levels}
        changed = (with_layer_values(each, values if each.id == "L5" else {}) for each in profile.layers)
        profile = profile._replace(layers=tuple(changed))
    files = {place_of(name): "\n".join(bullets) + "\n"}
    hold_inside(shown(files, profile, form, budget, topic))


@pytest.mark.parametrize("form", ["markdown", "xml", "json", "messages"])
def test_three_hundred_hostile_memories_stay_inside(form: str) -> None:
    """Each form by itself, and in pairs that could close, hide or reopen one another."""
    pairs = [(one, HOSTILE[(at * 7 + turn) % len(HOSTILE)]) for turn in range(4) for at, one in enumerate(HOSTILE)]
    chosen = [*((one,) for one in HOSTILE), *pairs][:300]
    items = [f"- {OWN}", *(bullet(number, lines) for number, lines in enumerate(chosen))]
    context = shown({place_of("default"): "\n".join(items)}, DEFAULT, form, 200_000)
    everything = [each for each in context.decisions if each.fragment.startswith(WORD)]
    assert len(everything) == 300
    hold_inside(context)


@given(
    items=st.lists(st.booleans(), min_size=1, max_size=8),
    locked=st.booleans(),
    form=st.sampled_from(["markdown", "xml"]),
)
def test_an_instructing_layer_has_nothing_of_a_program(items: list[bool], locked: bool, form: str) -> None:
    layers = (
        each._replace(locked=locked) if each.id in {"L5", "memory"} else each for each in PROFILES["openclaw"].layers
    )
    profile = PROFILES["openclaw"]._replace(layers=tuple(layers))
    lines = [bullet(number, ["obey"]) if own else f"- {OWN} {number}" for number, own in enumerate(items)]
    context = shown({"MEMORY.md": "\n".join(lines)}, profile, form, 9_000)
    hold_inside(context)
    written = [each for each in context.decisions if each.fragment.startswith(WORD)]
    assert len(written) == sum(items)
    assert {each.reason.code == "written" for each in written} <= {locked}
    assert all(f"{OWN} {number}" in context.text for number, own in enumerate(items) if not own)


@given(texts=st.lists(st.text("ab `#<\n", min_size=1, max_size=20), max_size=6), budget=st.integers(60, 600))
def test_a_workspace_without_a_writer_has_no_fence(texts: list[str], budget: int) -> None:
    memories = "\n".join(f"- x {' '.join(text.split())}" for text in texts)
    assert WRITTEN not in shown({place_of("default"): memories}, DEFAULT, "markdown", budget).text


# --- Repositories ----------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(
    ["github.com/acme/app", "github.com/acme/lib", "git.example.org/x/y/z", "/home/me/src/app", "~/src/app", "app"]
)
GLOBS = (
    NAMES
    | st.sampled_from(["*", "github.com/*", "*/app", "*acme*", "~/src/*", "git*.org/?/y/z", "[!g]*"])
    | st.text("ab/*?.[]~", min_size=1, max_size=6)
)


@given(globs=st.lists(st.lists(GLOBS, max_size=3), min_size=1, max_size=5), here=st.lists(NAMES, max_size=3))
@example(globs=[["GitHub.com/ACME/*"]], here=["github.com/acme/app"])
def test_a_memory_is_shown_only_in_its_repositories(globs: list[list[str]], here: list[str]) -> None:
    asked: list[int] = []

    def names() -> Sequence[str]:
        asked.append(1)
        return here

    lines = [
        format_bullet(
            f"memory {number}", "note", {"id": f"m{number}"} | ({"repositories": ",".join(own)} if own else {})
        )
        for number, own in enumerate(globs)
    ]
    workspace = Files({**agent(), "agents/luna/memories/m.md": "\n".join(lines)})
    context = assemble(Build(workspace, DEFAULT, request(), ESTIMATE, repository=names))
    reasons = {each.fragment: each.reason.code for each in context.decisions if each.layer == "L5"}
    fit = [
        not own or any(fnmatchcase(name.casefold(), glob.casefold()) for name in here for glob in own) for own in globs
    ]
    assert [reasons[f"m{number}"] != "other-repository" for number in range(len(globs))] == fit
    assert bool(asked) == any(globs)


@given(
    form=st.sampled_from(
        [
            "https://{h}/{p}",
            "https://me:pa@{h}:8443/{p}",
            "ssh://git@{h}:22/{p}",
            "git@{h}:{p}",
            "{h}:{p}",
            "git://{h}/{p}/",
        ]
    ),
    host=st.sampled_from(["github.com", "git.example.org"]),
    path=st.lists(st.text("ab-_.~", min_size=1, max_size=5).map(lambda name: f"n{name}n"), min_size=1, max_size=3).map(
        "/".join
    ),
    end=st.sampled_from(["", ".git"]),
)
def test_an_address_is_the_same_for_every_form_of_its_url(form: str, host: str, path: str, end: str) -> None:
    url = form.format(h=host, p=path + end)
    assert repository_address(url) == f"{host}/{path}"
