"""Ids of memories: no two are equal, and numbers are all that is taken off one."""

import pytest

from contextasm.text.memories.parser import id_root, unique_ids


@pytest.mark.parametrize(
    ("name", "root"),
    [("a", "a"), ("a~2", "a"), ("a~2~13", "a"), ("a~", "a~"), ("a~b", "a~b"), ("a~2b", "a~2b"), ("~2", "")],
)
def test_root_is_an_id_without_its_numbers(name: str, root: str) -> None:
    assert id_root(name) == root


@pytest.mark.parametrize("name", ["a~\u0662", "a~\uff12", "a~2~\u0968"])
def test_digits_of_other_scripts_are_part_of_a_name(name: str) -> None:
    assert id_root(name) == name


def test_numbered_ids_keep_the_root_of_the_first() -> None:
    ids = unique_ids(["a", "a~2", "a", "a", "a~2"])
    assert ids == ["a", "a~2", "a~3", "a~4", "a~2~2"]
    assert {id_root(name) for name in ids} == {"a"}
