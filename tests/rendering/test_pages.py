"""Pages: one file that needs nothing else, with every decision, and nothing of a hostile text but its letters."""

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import Profile
from contextasm.rendering import page as page_fragments
from contextasm.rendering.context_page import MAX_FILE_BYTES, MAX_LINE, MAX_PROBLEMS, context_page
from contextasm.rendering.page import words
from contextasm.text.cleaning.clean import clean_text
from contextasm.text.graphemes import beginning, clipped
from tests.command import LUNA, fill, inside
from tests.workspaces import Content, agent, ago, budgets, build, log, profiles, workspaces

STYLE = "body { color: black; }"

HOSTILE = (
    "<script>alert(1)</script>",
    "</pre></div></details></main><h1>mine</h1>",
    '" onmouseover="alert(1)" x="',
    "' onfocus='alert(1)",
    "<img src=https://evil.example/x.png onerror=alert(1)>",
    "<!-- --><style>body{display:none}</style>",
    "&lt;b&gt; &amp;amp; &#60;",
    "]]></svg><svg onload=alert(1)>",
    "\u202eright to left\u202c \u2066x\u2069",
    "a\x1b[31mred\x07 \x00nul",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
)


class Page(HTMLParser):
    """A page as a browser takes it: its elements, and the text outside of its style sheet."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember an element."""
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the element that was opened last."""
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        """Remember a text."""
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        """All texts of the body."""
        return "".join(self.texts)

    def with_class(self, name: str) -> Sequence[str]:
        """The tags of the elements of a class."""
        return [tag for tag, attributes in self.elements if name in (attributes.get("class") or "").split()]


def parsed(html: str) -> Page:
    page = Page(html)
    assert page.unbalanced == []
    assert page.open == []
    tags = {tag for tag, _ in page.elements}
    assert tags.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "form", "input", "base", "video"})
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in {"src", "style", "srcset", "action"}}
    assert all((attributes.get("href") or "#").startswith("#") for _, attributes in page.elements)
    return page


class Sizes(NamedTuple):
    """The numbers of what a page shows."""

    listed: int
    decisions: int


OUTCOMES = ("included", "shortened", "truncated", "dropped", "excluded", "merged")


def sizes(page: Page) -> Sizes:
    kinds = Counter(name for name in OUTCOMES for tag in page.with_class(name) if tag == "li")
    return Sizes(len(page.with_class("decisions")), kinds.total())


def test_page_is_balanced_and_loads_nothing(tmp_path: Path) -> None:
    inside("explain", *LUNA, "--html", tmp_path / "page.html", "--budgets", "16k,4k,8k")
    html = (tmp_path / "page.html").read_text()
    page = parsed(html)
    assert "://" not in re.sub(r"<pre>.*?</pre>|<p class=\"text\">.*?</p>", "", html, flags=re.DOTALL)
    assert re.search(r"default-src 'none'; style-src 'sha256-[\w+/=]{44}'", html)
    assert "url(" not in html.partition("</style>")[0]
    assert "@import" not in html
    names = [text for text in page.texts if text in {"4,000", "8,000", "16,000"}]
    assert names[:3] == ["4,000", "8,000", "16,000"]


def test_policy_allows_the_style_sheet_of_the_page(tmp_path: Path) -> None:
    inside("explain", *LUNA, "--html", tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    style = html.partition("<style>")[2].partition("</style>")[0]
    assert f"sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in html


@given(workspaces(), profiles(), budgets)
def test_every_decision_is_on_the_page_once(files: dict[str, Content], profile: Profile, budget: int) -> None:
    context = build(files, profile, budget=budget)
    html = context_page([context], STYLE)
    assert html == context_page([context], STYLE)
    page = parsed(html)
    assert sizes(page) == (len(context.decisions), len(context.decisions))
    counts = Counter(decision.outcome for decision in context.decisions)
    assert {name: page.with_class(name).count("li") for name in OUTCOMES} == {name: counts[name] for name in OUTCOMES}


def test_budgets_side_by_side_have_each_fragment_once() -> None:
    files = {**agent(KNOWLEDGE="word " * 400), **log(ago(0), "A short day.")}
    contexts = [build(files, budget=budget) for budget in (100, 300, 4000)]
    page = parsed(context_page(contexts, STYLE))
    keys = {(decision.layer, decision.fragment) for context in contexts for decision in context.decisions}
    assert sizes(page).listed == len(keys)
    assert sizes(page).decisions == len(keys) + 2  # KNOWLEDGE alone, at three budgets
    assert "dropped (0 of 500 tokens)" in page.text or "truncated" in page.text


texts = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40)), max_size=8).map("".join)


@given(texts, texts, texts)
def test_hostile_text_is_inert(topic: str, knowledge: str, memory: str) -> None:
    files: dict[str, Content] = {
        **agent(KNOWLEDGE=knowledge.encode("utf-8", "replace").decode()),
        "agents/luna/memories/m.md": f"- [{memory}] {memory} {{id={topic}}}\n".encode("utf-8", "replace"),
        f"agents/luna/daily/{ago(0)}-<b onclick=x>&amp;.md": "A day.\n",
    }
    html = context_page([build(files, topic=topic)], STYLE)
    page = parsed(html)
    known = "html head meta title style body header main section h1 h2 h3 p div span small svg rect table caption thead"
    known += " tbody tr th td b em ol ul li a details summary pre"
    assert {tag for tag, _ in page.elements} <= set(known.split())
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_keeps_its_letters(text: str) -> None:
    html = context_page([build(agent(KNOWLEDGE=f"before {text} after"))], STYLE)
    page = parsed(html)
    cleaned = " ".join(clean_text(text).text.split())
    assert f"before {cleaned} after" in page.text
    assert "16C7e42F292c6912E7710c838347Ae178B4a" not in html


def test_secret_of_a_build_without_masks_is_masked(tmp_path: Path) -> None:
    token = HOSTILE[-1]
    fill(tmp_path, {"agents/a/IDENTITY.md": f"{'x ' * 85}{token}\n"})
    at = ("-w", str(tmp_path), "--privacy", "off")
    assert token in inside("build", *at).out
    inside("explain", *at, "--html", tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    assert "[masked:github-token]" in html
    assert "ghp_16C7" not in html


def test_lost_lines_say_so() -> None:
    files = agent(KNOWLEDGE="First of all.\n\n" + "\n\n".join(f"Paragraph {n}. " + "word " * 30 for n in range(9)))
    small, large = (build(files, budget=budget) for budget in (150, 4000))
    page = parsed(context_page([small], STYLE))
    assert re.search(r"\d+–19 lost", page.text)
    assert re.search(r"1–\d+ shown", page.text)
    assert page.with_class("lost") == ["div"]
    both = parsed(context_page([small, large], STYLE))
    assert re.search(r"\d+–19 shown with 4,000", both.text)
    assert both.with_class("lost") == []


def test_ten_thousand_fragments_stay_below_five_megabytes(tmp_path: Path) -> None:
    line = "- [fact] Memory {n} of {m} " + "\"'<>&" * 60
    files = {
        f"agents/a/memories/m{m}.md": "".join(f"{line.format(n=n, m=m)}\n" for n in range(1000)) for m in range(10)
    }
    fill(tmp_path, files)
    inside("explain", "-w", str(tmp_path), "--date", "2025-03-14", "--html", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 5_000_000
    page = parsed((tmp_path / "page.html").read_text())
    listed = sizes(page).listed
    assert listed <= 2000
    (rest,) = re.findall(r"([\d,]+) more fragments are not listed", page.text)
    assert listed + int(rest.replace(",", "")) == 10_002
    assert f"not listed: {page_fragments.limit_words(listed)}" in page.text


@pytest.mark.parametrize("spare", [-1, 0, 1])
def test_fragments_that_are_shown_are_listed_first(monkeypatch: pytest.MonkeyPatch, spare: int) -> None:
    files = {**agent(KNOWLEDGE="word " * 400, MEMORY="other " * 10), **log(ago(0), "A short day.")}
    files |= {f"agents/luna/memories/m{n}.md": f"- [fact] Memory {n} of the lamp\n" for n in range(60)}
    contexts = [build(files, budget=budget, topic="lamp") for budget in (200, 400)]
    of_all = [decision for context in contexts for decision in context.decisions]
    shown = {(each.layer, each.fragment) for each in of_all if each.tokens_after}
    fragments = {(each.layer, each.fragment) for each in of_all}
    assert 3 < len(shown) < len(fragments) - 2
    monkeypatch.setattr(page_fragments, "MAX_FRAGMENTS", len(shown) + spare)
    page = parsed(context_page(contexts, STYLE))
    assert sizes(page).listed == len(shown) + spare
    left_out = [int(number) for number in re.findall(r"(\d+) left out:", page.text)]
    assert sum(left_out) == max(spare, 0)
    counted = len(fragments) - len(shown) - spare
    assert f"{counted} more fragments are not listed: a page lists {len(shown) + spare} at most" in page.text


def test_caption_names_the_room_where_that_ended_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    files = agent() | {f"agents/luna/memories/m{n}.md": f"- [fact] Memory {n}\n" for n in range(60)}
    monkeypatch.setattr(page_fragments, "MAX_FRAGMENT_BYTES", 5000)
    page = parsed(context_page([build(files, budget=4000)], STYLE))
    assert 3 < sizes(page).listed < 50
    assert f"{62 - sizes(page).listed} more fragments are not listed: a page has room for 5,000 bytes" in page.text


def test_long_file_is_shown_up_to_its_room() -> None:
    context = build(agent(KNOWLEDGE="".join(f"{n:>5}\n\n" for n in range(40_000))), budget=100_000)
    page = parsed(context_page([context], STYLE))
    (rest,) = re.findall(r"([\d,]+) more lines are not on this page", page.text)
    runs = [text for text in page.texts if re.search(r"^ +\d+\n\n", text)]
    assert 0.9 * MAX_FILE_BYTES < len("".join(runs)) <= MAX_FILE_BYTES
    assert sum(len(run.split("\n")) for run in runs) + int(rest.replace(",", "")) == 79_999


def test_long_line_is_cut() -> None:
    context = build(agent(KNOWLEDGE=f"{'x' * 5000}\n"), budget=4000)
    longest = max(re.findall("x+", parsed(context_page([context], STYLE)).text), key=len)
    assert len(longest) == MAX_LINE - 1


def test_many_problems_are_counted(tmp_path: Path) -> None:
    fill(tmp_path, {f"agents/a/memories/{n:03}.md": b"\xff\xfe\xff" for n in range(MAX_PROBLEMS + 7)})
    inside("explain", "-w", str(tmp_path), "--html", tmp_path / "page.html", "--budgets", "1k,2k")
    page = parsed((tmp_path / "page.html").read_text())
    assert "7 more problems" in page.text
    assert page.text.count("agents/a/memories/000.md") == 1


def test_problem_of_one_budget_is_on_the_page_and_those_of_all_are_told_too(tmp_path: Path) -> None:
    fill(tmp_path, {"agents/a/IDENTITY.md": "I am a. " * 40, "agents/a/KNOWLEDGE.md": b"\xff\xfe\xff"})
    told = inside("explain", "-w", str(tmp_path), "--html", tmp_path / "page.html", "--budgets", "10,4k")
    page = parsed((tmp_path / "page.html").read_text())
    assert told.err.count("KNOWLEDGE.md") == page.text.count("KNOWLEDGE.md: ") == 1
    assert ("[over-budget]" in page.text, "over-budget" in told.err) == (True, False)


def test_ten_thousand_files_stay_below_five_megabytes(tmp_path: Path) -> None:
    fill(tmp_path, {f"agents/a/memories/{n:05}-{'x' * 80}.md": f"- [fact] Memory {n}\n" for n in range(10_000)})
    inside("explain", "-w", str(tmp_path), "--date", "2025-03-14", "--html", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 5_000_000
    page = parsed((tmp_path / "page.html").read_text())
    (rest,) = re.findall(r"([\d,]+) more files are not on this page", page.text)
    names = {attributes["id"] for _, attributes in page.elements if attributes.get("id")}
    assert len(names) + int(rest.replace(",", "")) == 10_002
    links = {str(attributes["href"])[1:] for tag, attributes in page.elements if tag == "a"}
    assert links <= names


def test_beginnings_end_at_words_and_never_inside_a_letter() -> None:
    assert beginning("One\n\ntwo  three", 40) == "One two three"
    assert beginning("One two three four", 12) == "One two…"
    family = "👩‍👩‍👧‍👦"
    assert clipped(family * 5, 16) == f"{family * 2}…"
    assert clipped(family * 5, 14) == f"{family}…"
    assert len(clipped("x" * 500, 20)) == 20
    assert words("<b>&\u202e\x07\n") == "&lt;b&gt;&amp;  "
