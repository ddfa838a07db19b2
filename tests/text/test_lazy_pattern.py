"""Patterns that are compiled at first use."""

import re

import pytest

from contextasm.text.lazy_pattern import lazy_pattern


def test_pattern_finds_what_the_same_one_of_re_finds() -> None:
    pattern = lazy_pattern(r"(?P<word>[a-z]+)\b", re.IGNORECASE)
    for _ in range(2):
        assert pattern.findall("One two 3") == ["One", "two"]
        assert pattern.sub("-", "One two 3") == "- - 3"
        assert pattern.groupindex["word"] == 1
        match = pattern.search("3 One")
        assert match is not None
        assert match.span("word") == (2, 5)


def test_fault_in_a_pattern_is_raised_at_its_first_use() -> None:
    pattern = lazy_pattern("(")
    with pytest.raises(re.error):
        pattern.search("text")
