"""Laws of the commands that write: no byte changes outside the lines that are meant, whatever the file holds."""

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.text.memories.parser import parse_memories
from contextasm.workspace.editing.remember import store_memories
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import MemoryPlace, NewMemory
from tests.workspaces import document

DAY = date(2025, 3, 14)
FOLDER = "agents/a/memories"

TEXTS = st.sampled_from(
    [
        "Lanterns are lit at dusk",
        "The bell is not rung",
        "The bell is rung",
        "Ropes\n  are coiled\n\n  clockwise",
        "Run\n  ```\n  make all\n  ```",
        "Ends in {braces}",
        "Ä ö 🚢",
    ]
)
BRACES = st.sampled_from(
    ["", " {importance=0.2}", '  {tags="a,b c" key=k}', " {status=archived}", " {accessed=2020-01-01}"]
)
LINES_BETWEEN = st.sampled_from(["", "\n", "\n## Heading\n\n", "\nA paragraph.\n\n"])
BULLETS = st.lists(st.tuples(TEXTS, BRACES, LINES_BETWEEN), min_size=1, max_size=6)
ENTRIES = st.lists(
    st.builds(
        NewMemory,
        text=st.sampled_from(
            ["Lanterns are lit at dusk.", "The bell is rung!", "The bell is never rung", "Something new"]
        ),
        type=st.sampled_from(["note", "fact"]),
        importance=st.sampled_from([None, 0.1, 0.9]),
        tags=st.sampled_from([(), ("t", "two words")]),
        key=st.sampled_from(["", "k", "l"]),
        supersedes=st.just(()),
        cites=st.sampled_from([(), ("src/a b.py:3-5@0123456789ab", "c.md:1-1@ba9876543210")]),
        valid_from=st.sampled_from(["", "2025-03-20"]),
        expires=st.sampled_from(["", "2025-03-01", "2025-03-20"]),
        accessed=st.just(""),
        repositories=st.sampled_from([(), ("github.com/a/*", "~/b")]),
        writer=st.sampled_from(["", "mcp"]),
        status=st.sampled_from(["", "draft"]),
    ),
    min_size=1,
    max_size=3,
)


def memories_of(data: bytes) -> list[str]:
    return [memory.text for memory in parse_memories(document(data))[0]]


@given(BULLETS, ENTRIES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(-1, 9))
def test_law_remember_changes_no_byte_outside_its_lines(
    tmp_path_factory: pytest.TempPathFactory,
    bullets: list[tuple[str, str, str]],
    entries: list[NewMemory],
    end: str,
    mark: bool,
    superseded: int,
) -> None:
    root = tmp_path_factory.mktemp("w")
    (root / FOLDER).mkdir(parents=True)
    text = "".join(
        f"- {body}{braces if not body.endswith('```') else ''}\n{between}" for body, braces, between in bullets
    )
    old = (b"\xef\xbb\xbf" if mark else b"") + text.replace("\n", end).encode()
    (root / FOLDER / "m.md").write_bytes(old)
    names = [memory.id for memory in parse_memories(document(old, f"{FOLDER}/m.md"))[0]]
    if 0 <= superseded < len(names) and names.count(names[superseded]) == 1:
        entries = [entries[0]._replace(supersedes=(names[superseded],)), *entries[1:]]
    outcomes = store_memories(Folder(root), MemoryPlace(FOLDER, f"{FOLDER}/m.md"), entries, DAY, force=False)
    new = (root / FOLDER / "m.md").read_bytes()
    assert new.startswith(b"\xef\xbb\xbf") == mark
    assert new.count(b"\r") == (new.count(b"\n") if end == "\r\n" else 0)
    old_texts = memories_of(old)
    assert memories_of(new)[: len(old_texts)] == old_texts
    changed = {outcome.memory.line for outcome in outcomes if outcome.what == "reinforced"}
    _assert_other_lines_stand(old, new, len(changed) + bool(entries[0].supersedes))


_BRACES = re.compile(rb"\{[a-z]+=.*")


def _assert_other_lines_stand(old: bytes, new: bytes, changed_memories: int) -> None:
    """Of each changed memory one line has other braces, and the first one another type; braces may get a line."""
    new_lines = [line for line in new.split(b"\n") if not line.strip().startswith(b"{")]
    changed = [pair for pair in zip(old.split(b"\n")[:-1], new_lines, strict=False) if pair[0] != pair[1]]
    assert len(changed) <= 2 * changed_memories
    for line, new_line in changed:
        assert _BRACES.sub(b"", line)[2:].rstrip() in new_line
