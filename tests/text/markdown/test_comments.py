"""HTML comments of a text."""

import pytest

from contextasm.text.markdown.blocks import without_comments
from contextasm.text.markdown.hidden_markup import hidden_markup


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <!-- b --> c", "a  c"),
        ("<!-- a\n\nb --> c", "\n\n c"),
        ("a <!-- b\nc --> d", "a \n d"),
        ("a <!-- b\n\nc -->", "a <!-- b\n\nc -->"),
        ("<!-- never closed\n\n# a", "<!-- never closed\n\n# a"),
        ("`<!-- a -->` ``<!-- ` -->`` <!-- b -->", "`<!-- a -->` ``<!-- ` -->`` "),
        ("```\n<!-- a -->\n```", "```\n<!-- a -->\n```"),
        ("a\n\n    <!-- b -->", "a\n\n    <!-- b -->"),
        ("- a\n\n    <!-- b -->", "- a\n\n    "),
        ("<!-- a --><!-- b -->c", "c"),
        (r"a \<!-- b --> c \\<!-- d --> e", r"a \<!-- b --> c \\ e"),
        ("\\<!-- a -->\n\nb", "\\<!-- a -->\n\nb"),
        (r"\` <!-- a --> \`", r"\`  \`"),
        (r"`a\` <!-- b --> `c`", r"`a\`  `c`"),
        ("<div>\n\\<!-- a -->\n</div>", "<div>\n\\\n</div>"),
        ("a <!-- b --!> c <!-- d --> e", "a  c  e"),
        ("<!-- a --!>\n\nb", "\n\nb"),
        ("a <!--> b <!---> c <!--!> d --> e", "a  b  c  e"),
    ],
)
def test_comments_go_and_code_stays(text: str, shown: str) -> None:
    assert without_comments(text)[0] == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('a <div style="display:none">b</div> c', "a  c"),
        ("a <div style='color:red; DISPLAY: none'>b\n\n<div>c</div>\nd</div> e", "a \n\n\n e"),
        ("a <span hidden>b <b>c</b></span> d", "a  d"),
        ('<p hidden="hidden">a</p>b', "b"),
        ('<p style="visibility:hidden">a</p>b', "b"),
        ('<p style="font-size:0">a</p>b', "b"),
        ('<p style="opacity: 0.0">a</p>b', "b"),
        ("a <img hidden alt='b'> c", "a  c"),
        ("[//]: # (a b)\nc", "\nc"),
        ("[comment]: <> (a b)\nc", "\nc"),
        ('[//]: # "a b"\nc', "\nc"),
        ("<div hidden>a <!-- b --> c</div>d", "d"),
        ("<!-- <div hidden> -->a</div>", "a</div>"),
        ("<div>\n\\<b hidden>a</b>\n</div>", "<div>\n\\\n</div>"),
    ],
)
def test_what_no_page_shows_goes(text: str, shown: str) -> None:
    assert without_comments(text, hidden_markup(text))[0] == shown


@pytest.mark.parametrize(
    "text",
    [
        *("<div>a</div>", '<p style="opacity:0.5">a</p>', '<input type="hidden">', '<p class="hidden">a</p>'),
        *('<p title="a hidden b">c</p>', "<span aria-hidden='true'>a</span>", "`<span hidden>a</span>`"),
        *("```\n<span hidden>a</span>\n```", "<div hidden>never closed", "[a]: https://a.io (b)", "[a]: #b"),
        *(
            r"\<span hidden>a</span>",
            r"\[//]: # (b)",
            "a [//]: # (b)",
            "the hidden <b>style</b>",
            '<p style="display: block">a</p>',
        ),
    ],
)
def test_what_a_page_shows_stays(text: str) -> None:
    assert hidden_markup(text) == []


@pytest.mark.parametrize(
    "text", ["<div hidden>", "<div hidden><p ", "[//]: # (", "<a style= ", "<!-- a", "<b hidden>a"]
)
def test_many_parts_that_never_end_are_text(text: str) -> None:
    assert hidden_markup(text * 20_000) == []


def test_hidden_parts_within_each_other_are_one() -> None:
    assert len(hidden_markup("<b hidden>" * 9_000 + "</b>" * 9_000)) == 1
