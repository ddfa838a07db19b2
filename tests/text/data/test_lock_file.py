"""The text of `ctxasm.lock`: any file name comes back as it was, and nothing else passes for a lock."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import ContextasmError
from contextasm.text.data.lock_file import VERSION_LINE, format_lock, parse_lock, quoted_path

DIGEST = "0123456789abcdef" * 4
NAMES = st.binary(min_size=1, max_size=12) | st.text(" \t\n\r\\x#\u202e\u00e9", min_size=1, max_size=6).map(str.encode)
PATHS = st.lists(NAMES.map(lambda name: name.replace(b"\0", b"0")), min_size=1, max_size=3).map(
    lambda names: os.fsdecode(b"/".join(names))
)
DIGESTS = st.dictionaries(PATHS, st.text("0123456789abcdef", min_size=64, max_size=64), max_size=5)


def broken(text: str | bytes) -> str:
    """The error of a lock, in words."""
    with pytest.raises(ContextasmError) as error:
        parse_lock(text if isinstance(text, bytes) else text.encode(), "ctxasm.lock")
    assert error.value.code == 2
    return f"{error.value.where}: {error.value.what}"


@given(DIGESTS)
def test_what_is_written_is_read_again(digests: dict[str, str]) -> None:
    assert parse_lock(format_lock(digests).encode(), "ctxasm.lock") == digests


@given(DIGESTS)
def test_each_file_has_one_line_that_can_be_seen(digests: dict[str, str]) -> None:
    lines = format_lock(digests).splitlines()
    assert len(lines) == len(digests) + 2
    assert all(line.isprintable() and line == line.rstrip() for line in lines)


def test_the_lines_are_in_path_order_whatever_the_order_of_the_files() -> None:
    text = format_lock({"b": DIGEST, "a c": DIGEST, "B": DIGEST})
    assert [line[66:] for line in text.splitlines()[2:]] == ["B", "a c", "b"]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.removesuffix("\n"),
        lambda text: text + "\n# a remark\n",
        lambda text: "".join([*text.splitlines(keepends=True)[:2], *text.splitlines(keepends=True)[:1:-1]]),
    ],
    ids=["CRLF", "byte order mark", "no last line end", "remark", "unsorted"],
)
def test_a_lock_means_the_same_however_an_editor_left_it(change: object) -> None:
    digests = {"a": DIGEST, "b c": DIGEST[::-1]}
    assert callable(change)
    assert parse_lock(change(format_lock(digests)).encode(), "ctxasm.lock") == digests


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "ctxasm.lock:1: the first line is not `ctxasm-lock 1`"),
        ("# only a remark\n", "ctxasm.lock:1: the first line is not `ctxasm-lock 1`"),
        ("ctxasm-lock 2\n", "ctxasm.lock:1: the first line is not `ctxasm-lock 1`"),
        (f"# remark\n{DIGEST}  a\n", "ctxasm.lock:2: the first line is not `ctxasm-lock 1`"),
        (f"{VERSION_LINE}\n{DIGEST} a\n", "ctxasm.lock:2: the line is not a SHA-256"),
        (f"{VERSION_LINE}\n{DIGEST.upper()}  a\n", "ctxasm.lock:2: the line is not a SHA-256"),
        (f"{VERSION_LINE}\n{DIGEST}  \n", "ctxasm.lock:2: the line is not a SHA-256"),
        (f"{VERSION_LINE}\n{DIGEST}  a\\b\n", "ctxasm.lock:2: the line is not a SHA-256"),
        (f"{VERSION_LINE}\n{DIGEST}  a\n=======\n", "ctxasm.lock:3: the line is not a SHA-256"),
        (f"{VERSION_LINE}\n{DIGEST}  a\n{DIGEST}  \\x61\n", "ctxasm.lock:3: lists a a second time"),
        (b"ctxasm-lock 1\n\xff", "ctxasm.lock: byte 14 is not UTF-8"),
    ],
)
def test_anything_else_is_an_error_with_its_line(text: str | bytes, says: str) -> None:
    assert broken(text).startswith(says)


def test_a_name_is_quoted_only_where_it_has_to_be() -> None:
    assert quoted_path("agents/\u00e9lo\u00efse/IDENTITY.md") == "agents/\u00e9lo\u00efse/IDENTITY.md"
    assert quoted_path("a\tb\\c\u202ed ") == r"a\x09b\\c\xe2\x80\xaed\x20"
