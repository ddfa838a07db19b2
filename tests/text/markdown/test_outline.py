"""Headings of a text below a level."""

import pytest

from contextasm.selection.sections import at_detail
from contextasm.text.markdown.outline import nest


@pytest.mark.parametrize(
    ("text", "nested"),
    [
        ("# A\n\n## B\n\n###### C", "#### A\n\n##### B\n\n###### C"),
        ("##### A", "##### A"),
        ("#A\n#\n####### seven\n## closed ##", "#A\n####\n####### seven\n##### closed ##"),
        ("```\n# A\n```\n\n    # B\n\n\t# C", "```\n# A\n```\n\n    # B\n\n\t# C"),
        ("1. Run:\n   ```sh\n   # install\n   ```\n", "1. Run:\n   ```sh\n   # install\n   ```\n"),
        ("> # A\n\n- # B", "> # A\n\n- # B"),
        ("- a\n  ```\n# b\n  ```", "- a\n```\n# b\n  ```"),
        ("    ```\n# A", "    \\```\n#### A"),
        ("<!--\n# A\n-->\n## B", "<!--\n#### A\n-->\n#### B"),
        ("---\n\na\n\n---\n\n- b\n---", "---\n\na\n\n---\n\n- b\n---"),
        ("- a\n  b\n---\nc", "- a\n  b\n***\nc"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n---", "| a | b |\n|---|---|\n| 1 | 2 |\n***"),
        ("> a\nb\n===", "> a\nb\n\\==="),
    ],
)
def test_headings_move_by_one_step(text: str, nested: str) -> None:
    """P22: the highest to just below the level, none below six marks; text, code, lists, quotes and rules stay."""
    assert nest(text, 3)[0] == nested


def test_required_text_moves_what_reaches_the_level_alone() -> None:
    """P22: the rest stays as it was written."""
    assert nest("# A\n## B\n### C\n#### D", 2, only_above=True)[0] == "### A\n### B\n### C\n#### D"


def test_a_line_under_a_heading_goes() -> None:
    assert nest("A\n===\nB\n---\ntext", 2) == ("### A\n#### B\ntext", (1, 3))
    assert nest("A\nb\n===\ntext", 2) == ("### A\nb\n\ntext", ())


def test_half_a_line_of_code_opens_no_fence() -> None:
    assert at_detail("One. Two\n\n```code. More`e\n\n### Part\n\nThree. Four", "micro").text == (
        "One.\n\n```code. More`e\n\n### Part\n\nThree."
    )
