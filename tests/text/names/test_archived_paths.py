"""Paths of archived files: those that they had before."""

import pytest

from contextasm.text.names.dates import day_of_name
from contextasm.text.names.places import archived_path, is_named, known_ids, known_paths, list_archived
from tests.workspaces import Files


@pytest.mark.parametrize(
    ("path", "earlier"),
    [
        ("t/daily/archive/2025/2025-03-12-evening.md.gz", "t/daily/2025-03-12-evening.md"),
        ("t/daily/archive/2025/2025-03-12.md", "t/daily/2025-03-12.md"),
        ("t/daily/archive/2025/2025-03-12-2.md", "t/daily/2025-03-12.md"),
        ("t/memories/archive/m.md.txt", "t/memories/m.md"),
        ("archive/a b.md", "a b.md"),
    ],
)
def test_an_archived_file_stands_for_the_path_that_it_had(path: str, earlier: str) -> None:
    assert known_paths(path)[0] == path
    assert earlier in known_paths(path)
    assert f"{earlier}:7" in known_ids(f"{path}:7", path)
    assert known_ids("m7", path) == ("m7",)
    assert list_archived(Files({path: "text"}), earlier) == [path]


@pytest.mark.parametrize("path", ["t/daily/2025-03-12.md", "archive", "archive/", "old-archive/x.md", "archive/o/x"])
def test_any_other_file_has_one_path(path: str) -> None:
    assert known_paths(path) == (path,)


def test_a_date_is_no_number() -> None:
    assert "d/2025-03.md" not in known_paths("d/archive/2025/2025-03-12.md")


def test_patterns_fit_either_path() -> None:
    path = "teams/q1/daily/archive/2025/2025-03-12-evening.md"
    assert is_named("teams/q1/daily/2025-*", "x", path)
    assert is_named("teams/q1/daily/archive/*", "x", path)
    assert is_named("teams/q1/daily/2025-03-12-evening.md:3", f"{path}:3", path)
    assert not is_named("teams/q2/*", "x", path)
    files = Files({path: "", "teams/q1/daily/archive/2025/2025-03-12.md": ""})
    assert list_archived(files, "teams/*/daily/*-evening.md") == [path]


@pytest.mark.parametrize("path", ["t/daily/2025-03-12-evening.md", "0001-01-02.md", "memories/m.md"])
def test_the_place_in_the_archive_stands_for_the_path(path: str) -> None:
    for place in (archived_path(path), archived_path(path, day_of_name(path))):
        assert path in known_paths(place)
        assert known_paths(place)[0] == place
    assert archived_path("d/0001-01-02.md", day_of_name("d/0001-01-02.md")) == "d/archive/0001/0001-01-02.md"
