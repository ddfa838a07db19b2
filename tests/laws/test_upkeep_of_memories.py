"""Laws of the upkeep of memories: undone it was never there, twice is once, and no text is lost."""

from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input.options import Options
from contextasm.config.resolve import process_environment
from contextasm.model import Memory
from contextasm.text.memories.parser import parse_memories
from contextasm.upkeep.actions import Action
from contextasm.upkeep.apply import apply_actions
from contextasm.upkeep.archive import parse_archive
from contextasm.upkeep.memories.planner import plan_memories
from contextasm.upkeep.plan import prepare_upkeep
from tests.command import fill, inside
from tests.upkeep.trees import tree
from tests.workspaces import document

DAY = ("--date", "2026-03-14")

TEXTS = st.sampled_from(
    [
        "The harbor master counts the boats at dusk with a brass lamp of the tower",
        "The harbor master counts the boats at dusk with a brass lamp of the tower.",
        "The harbor master counts the boats at dusk with a paper book of the tower",
        "The harbor master counts the barges at dusk with a brass lamp of the chapel",
        "The harbor master counts 3 boats at dusk with a brass lamp of the tower",
        "Ropes\n  are coiled\n\n  clockwise",
        "Run\n  ```\n  make all\n  ```",
        "Ends in {braces}",
        "Ä ö 🚢",
        "Hid\u200bden AKIAQWERTYUIOPASDFGH",
        "Key -----BEGIN PRIVATE KEY-----\n  MIIEpAIBAAKCAQEAtPOfQ2sNn0gH1rT5b\n  -----END PRIVATE KEY----- is it",
        "Around\n<!-- a comment\nof two lines -->\n  it",
    ]
)
FIELDS = st.lists(
    st.sampled_from(
        [
            *("status=deprecated", "status=superseded", "status=draft", "status=approved", "created=2025-01-01"),
            *("created=2026-03-14", "expires=2026-01-01", "pin=true", "private=true", "key=k", "key=l", "id=i", "id=j"),
            *("supersedes=i", "supersedes=i,j", "importance=0.9", "tags=a,b", 'tags="b c"', "accessed=2026-03-12"),
            *("supersedes=gone,i", "superseded_by=i", "superseded_by=gone", "tags=Bad_Tag", "key=AKIAQWERTYUIOPASDFGJ"),
        ]
    ),
    max_size=4,
)
KINDS = st.sampled_from(["", "[task] ", "[fact] ", "[task] "])
BETWEEN = st.sampled_from(["", "", "\n", "\n## 2025-02-02\n\n", "\nA paragraph.\n\n", "<!-- one line -->\n"])
BULLETS = st.lists(st.tuples(KINDS, TEXTS, FIELDS, BETWEEN), max_size=7)
HEADS = st.sampled_from(
    ["", "# List\n\n", "---\nimportance: 0.4\nstatus: draft\n---\n", "---\ntype: task\ncreated: 2025-01-01\n---\n"]
)
ENDS = st.sampled_from(["\n", "\r\n"])
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])
FILLERS = [
    *(f"{letter * 9} {letter}{number} of the pier" for number, letter in enumerate("abcdefghijklmnopqr")),
    "The harbor master counts the boats at dusk with a paper book of the tower",
    "The harbor master counts the barges at dusk with a brass lamp of the chapel",
    "The harbor master counts the boats at dusk with a brass lamp of the tower",
]
"""More than 20 memories, of which three are alike."""


@st.composite
def memory_files(draw: st.DrawFn) -> bytes:
    text = draw(HEADS)
    for kind, said, fields, between in draw(BULLETS):
        braces = f" {{{' '.join(fields)}}}" if fields else ""
        closing = f"\n  {braces.strip()}" if said.endswith("```") and braces else braces
        text += f"- {kind}{said}{closing}\n{between}"
    text = text[: len(text) - draw(st.integers(0, 1))]
    return text.replace("\n", draw(ENDS)).encode(draw(ENCODINGS))


def memories_of(path: str, data: bytes) -> list[Memory]:
    return [*parse_memories(document(data, path))[0]]


def texts_of(root: Path) -> set[str]:
    found: set[str] = set()
    for path, (data, _) in tree(root).items():
        if path.endswith(".md") and "memories/" in path:
            found |= {memory.text for memory in memories_of(path, data)}
        elif path.endswith(".txt"):
            for archived in parse_archive(data.decode()):
                found |= {memory.text for memory in memories_of(path, archived.text.encode())}
    return found


@given(st.lists(memory_files(), min_size=1, max_size=3), st.booleans(), st.sampled_from(["--safe", "--all"]))
def test_nothing_is_lost_and_everything_is_taken_back(files: list[bytes], are_many: bool, which: str) -> None:
    contents: dict[str, str | bytes] = {f"agents/a/memories/{number}.md": data for number, data in enumerate(files)}
    contents["agents/a/memories/2025-05-05.md"] = "- [task] In a dated file\n"
    if are_many:
        contents["agents/a/memories/many.md"] = "".join(f"- {text} {{created=2026-03-01}}\n" for text in FILLERS)
    with TemporaryDirectory() as folder:
        root = fill(Path(folder), contents)
        before, texts = tree(root), texts_of(root)
        assert inside("tidy", "-w", root, *DAY, "--apply", which).code == 0
        after = tree(root)
        assert texts <= texts_of(root)
        assert inside("tidy", "-w", root, *DAY, "--apply", which).code == 0
        assert tree(root) == after
        if after != before:
            assert inside("tidy", "-w", root, "--undo").code == 0
        assert tree(root) == before


def changes_of(root: Path) -> list[Action]:
    upkeep = prepare_upkeep(Options(workspace=str(root), date=DAY[1]), process_environment())
    return [action for action in plan_memories(upkeep) if not action.for_you]


@given(st.lists(memory_files(), min_size=1, max_size=2), st.booleans())
def test_a_few_plans_leave_nothing_to_do(files: list[bytes], has_schema: bool) -> None:
    contents: dict[str, str | bytes] = {f"agents/a/memories/{number}.md": data for number, data in enumerate(files)}
    contents["agents/a/memories/many.md"] = "".join(f"- {text} {{created=2026-03-01}}\n" for text in FILLERS)
    contents["ctxasm.yaml"] = "profile: brain\n" if has_schema else "profile: default\n"
    day = date(2026, 3, 14)
    with TemporaryDirectory() as folder:
        root = fill(Path(folder), contents)
        for _ in range(6):
            if not (actions := changes_of(root)):
                return
            assert apply_actions(str(root), actions, day).left_out == ()
        assert changes_of(root) == []


@given(st.lists(memory_files(), min_size=1, max_size=2), st.booleans())
def test_row_120_redact_leaves_no_secret_in_the_workspace(files: list[bytes], only_redact: bool) -> None:
    """Row 120: not in archives or other memories either; and builds read the same memories as before."""
    contents: dict[str, str | bytes] = {f"agents/a/memories/{number}.md": data for number, data in enumerate(files)}
    with TemporaryDirectory() as folder:
        root = fill(Path(folder), contents)
        redactions = [action.id for action in changes_of(root) if action.verb == "redact"]
        assert bool(redactions) == any(map(has_secret, files))
        assert inside("tidy", "-w", root, *DAY, "--apply", "--safe").code == 0
        redactions = [action.id for action in changes_of(root) if action.verb == "redact"]
        read = [memories_of(path.name, path.read_bytes()) for path in sorted(root.glob("agents/a/memories/*.md"))]
        chosen = redactions if only_redact and redactions else ["--all"]
        assert inside("tidy", "-w", root, *DAY, "--apply", *chosen).code == 0
        if chosen == redactions:
            paths = sorted(root.glob("agents/a/memories/*.md"))
            assert read == [memories_of(path.name, path.read_bytes()) for path in paths]
        left = [path for path, (data, _) in tree(root).items() if not path.startswith(".tidy/") and has_secret(data)]
        assert left == []


def has_secret(data: bytes) -> bool:
    return bool(document(data).secrets)
