"""Files in archives are searched, so they are checked as closely as those that stand in place."""

import gzip
import json
from pathlib import Path

import pytest

from contextasm.text.names.places import known_paths
from tests.command import fill, inside

SECRET = "ghp_" + "R4nd0mT0kenV4lue9xYzAbCdEfGhIjKl2345"
LOG = "agents/a/daily/2025-01-10.md"
FILES = {
    LOG: f"The key is {SECRET}\nA\u202eb\n[gone](gone.md) [there](../memories/m.md) [next](2025-01-11.md)\n",
    "agents/a/daily/2025-01-11.md": "# 2025-01-14\n\nSee [before](2025-01-10.md) and [m](agents/a/memories/m.md#No).\n",
    "agents/a/memories/m.md": f"- [fact] The pin of the door is {SECRET} {{status=deprecated}}\n- [fact] One\n",
}


def findings(root: Path) -> list[tuple[str, str, str]]:
    """Id and message of each finding, with the path that its file had before it was archived."""
    done = inside("check", "-w", root, "--date", "2026-03-14", "-f", "json")
    found = json.loads(done.out)["findings"]
    places = [(each, min(known_paths(each["path"]), key=len)) for each in found]
    return sorted((each["id"], path, each["message"].replace(each["path"], path)) for each, path in places)


@pytest.mark.parametrize("compress", ["true", "false"])
def test_an_archived_file_has_the_findings_that_it_had_before(tmp_path: Path, compress: str) -> None:
    root = fill(tmp_path, {**FILES, "ctxasm.yaml": f"upkeep: {{logs: {{compress: {compress}}}}}\n"})
    before = findings(root)
    assert {name for name, path, _ in before if path == LOG} == {"secret", "hidden", "reference"}
    assert inside("tidy", "-w", root, "--date", "2026-03-14", "--apply", "--safe").code == 0
    assert not (root / LOG).exists()
    after = [(name, path, message) for name, path, message in findings(root)]
    moved = "agents/a/memories/m.md"  # the archive of the text that left the file has the finding now
    assert {each[:2] for each in after} == {each[:2] for each in before}
    assert [each for each in after if each[1] != moved and each[0] != "reference"] == [
        each for each in before if each[1] != moved and each[0] != "reference"
    ]
    assert len(after) == len(before)


def test_a_file_in_an_archive_of_logs_needs_a_date(tmp_path: Path) -> None:
    place = tmp_path / "agents/a/daily/archive/2025"
    fill(
        tmp_path, {"agents/a/daily/archive/2025/2025-02-30.md": "Text\n", "agents/a/daily/archive/2025/notes.md": "x\n"}
    )
    (place / "2025-02-31.md.gz").write_bytes(gzip.compress(b"Text\n"))
    told = {(name, message) for name, _, message in findings(tmp_path)}
    assert ("bad-date", "2025-02-30 is not a day of the calendar, so the log is never read") in told
    assert ("bad-date", "2025-02-31 is not a day of the calendar, so the log is never read") in told
    assert any("notes.md is not a date" in message for _, message in told)


def test_a_log_that_is_a_link_to_nothing_is_told(tmp_path: Path) -> None:
    root = fill(tmp_path, {LOG: "Text\n"})
    (root / "agents/a/daily/2025-01-12.md").symlink_to("nowhere.md")
    message = "agents/a/daily/2025-01-12.md: warning: is a link to a file that does not exist: replace it with a file"
    assert message in inside("check", "-w", root, "--date", "2025-01-12").out
    done = inside("build", "-w", root, "-a", "a", "--date", "2025-01-12")
    assert (done.code, done.err.count("is a link to a file that does not exist")) == (0, 1)
