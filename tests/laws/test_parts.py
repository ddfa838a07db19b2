"""All readers of a Markdown text agree on its bullets, headings, fences and HTML."""

from hypothesis import given
from hypothesis import strategies as st

from contextasm.rules.apply import section
from contextasm.text.cleaning.private_parts import private_lines
from contextasm.text.exchange.notes import text_parts
from contextasm.text.markdown.blocks import headings, parts, without_block_comments
from contextasm.text.memories.parser import parse_memories
from contextasm.text.memories.writer import ends_under
from tests.workspaces import document

_LINES = (
    *("- [fact] One", "* Two", "+ Three", "-", "- - -", "  more", "  - inner", "    far in", "Text", "", " "),
    *("# Title", "## 2025-03-14", "  # Indented", "#no title", "```", "```py", "  ```", "~~~~", "- ```"),
    *("<pre>", "</pre>", "<pre>x</pre>", "<!-- a", "b -->", "<!-- c -->", "<style>", "<div>", "- {private=true}"),
)
MARKDOWN = st.lists(st.sampled_from(_LINES), max_size=14).map("\n".join)


@given(MARKDOWN, st.booleans())
def test_law_each_line_is_in_one_part(text: str, is_cautious: bool) -> None:
    lines = text.split("\n")
    found = [*parts(lines, is_cautious=is_cautious)]
    assert [n for part in found for n in range(part.first, part.stop)] == [*range(len(lines))]


@given(MARKDOWN)
def test_law_memories_are_the_bullets(text: str) -> None:
    file = document(text)
    lines = without_block_comments(file.text).split("\n")
    bullets = {part.first: part.stop for part in parts(lines) if part.kind == "bullet"}
    for memory in parse_memories(file)[0]:
        assert memory.line - file.line in bullets
        assert memory.text.count("\n") <= bullets[memory.line - file.line] - memory.line + file.line - 1


@given(MARKDOWN)
def test_law_no_bullet_with_the_flag_is_shown_to_others(text: str) -> None:
    file = document(text)
    hidden = private_lines(file, None)
    memories = parse_memories(file)[0]
    assert all(memory.line in hidden for memory in memories if memory.private)
    assert all(memory.line in hidden for memory in memories if "{private=true}" in memory.text)


@given(MARKDOWN.filter(lambda text: "```" not in text and "~~~" not in text))
def test_law_an_import_takes_the_bullets_that_a_file_of_memories_has(text: str) -> None:
    lines = text.split("\n")
    starts = {line - 1 for line, *_ in text_parts(text)}
    bullets = {part.first for part in parts(lines) if part.kind == "bullet"}
    html = {n for part in parts(lines) if part.kind == "html" for n in range(part.first + 1, part.stop)}
    assert bullets <= starts
    assert not {n for n in html if lines[n].startswith(("- [", "* ", "+ "))} & bullets


_TEXT = st.lists(st.sampled_from(("# Title", "## Setup", "### 2025-03-14", "- One", "  more", "Text", "")), max_size=6)
_CODE = st.lists(st.sampled_from(("# Title", "## Setup", "#", "  # 2025-03-15 run", "make", "")), max_size=4)


@given(_TEXT, st.sampled_from(("```", "~~~~", "   ```sh")), _CODE, _TEXT)
def test_law_no_reader_takes_a_line_of_code_for_a_heading(
    above: list[str], fence: str, code: list[str], below: list[str]
) -> None:
    plain, marked = (
        [*above, "", fence, *own, fence.removesuffix("sh"), *below]
        for own in ([line.replace("#", "x") for line in code], code)
    )
    assert [*headings(marked)] == [*headings(plain)]
    assert section(marked, "setup") == section(plain, "setup")
    days = ("2025-03-14", "2025-03-15")
    assert [ends_under("\n".join(marked), day) for day in days] == [ends_under("\n".join(plain), day) for day in days]
    dated = ([memory.created for memory in parse_memories(document("\n".join(each)))[0]] for each in (marked, plain))
    assert next(dated) == next(dated)
