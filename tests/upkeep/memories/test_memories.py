"""The plan of memories: what is over, said twice, scattered, incomplete or contradictory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest

from contextasm.model import Document, Memory
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.memories.parser import parse_memories
from contextasm.upkeep.memories import merging as duplicates
from tests.command import SAMPLE, fill, inside

DAY = date(2026, 3, 14)
FILE = "agents/a/memories/m.md"


def day(age: int) -> str:
    """The day so many days ago."""
    return str(DAY - timedelta(days=age))


def plan(root: Path, *words: str) -> list[Mapping[str, object]]:
    """The actions of a plan."""
    done = inside("tidy", "-w", root, "--date", str(DAY), "--json", *words)
    assert done.code == 0, done.err
    actions = json.loads(done.out)["actions"]
    assert isinstance(actions, list)
    return actions


def verbs(root: Path) -> list[str]:
    """What a plan does, in its order."""
    return [str(action["verb"]) for action in plan(root)]


def apply(root: Path, which: str = "--all") -> None:
    """Carry out a plan."""
    done = inside("tidy", "-w", root, "--date", str(DAY), "--apply", which)
    assert done.code == 0, done.err


def memories(root: Path, path: str = FILE) -> list[Memory]:
    """The memories of a file."""
    document = decode_document(path, (root / path).read_bytes())
    assert isinstance(document, Document)
    return [*parse_memories(document)[0]]


def workspace(root: Path, text: str, path: str = FILE) -> Path:
    """A workspace with one file of memories."""
    return fill(root, {path: text})


# --- Tasks and days --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "is_completed"),
    [
        (f"created={day(8)}", True),
        (f"created={day(7)}", False),
        (f"created={day(30)} accessed={day(8)}", True),
        (f"created={day(30)} accessed={day(7)}", False),
        (f"created={day(2)} accessed={day(30)}", False),
        (f"created={day(30)} status=draft", False),
        (f"created={day(30)} pin=true", False),
        ("importance=0.9", False),
    ],
)
def test_row_35_stale_tasks_are_completed(tmp_path: Path, fields: str, is_completed: bool) -> None:
    """Row 35: only active tasks with both dates more than 7 days ago; what has no day, or is pinned, stays."""
    workspace(tmp_path, f"- [task] Paint the boat {{{fields}}}\n- [fact] Other {{created={day(90)}}}\n")
    assert verbs(tmp_path) == ["complete"] * is_completed
    apply(tmp_path)
    assert (memories(tmp_path)[0].status == "completed") is is_completed
    assert memories(tmp_path)[1].status == "active"


def test_a_memory_past_its_last_day_expires(tmp_path: Path) -> None:
    workspace(tmp_path, f"- Over {{expires={day(1)}}}\n- Today {{expires={day(0)}}}\n")
    apply(tmp_path)
    assert [memory.status for memory in memories(tmp_path)] == ["expired", "active"]


def test_tasks_need_approval(tmp_path: Path) -> None:
    workspace(tmp_path, f"- [task] Paint the boat {{created={day(8)}}}\n")
    apply(tmp_path, "--safe")
    assert memories(tmp_path)[0].status == "active"


def test_a_missing_day_is_filled_from_the_name_of_the_file(tmp_path: Path) -> None:
    path = f"agents/a/memories/{day(8)}.md"
    workspace(tmp_path, "- [task] Paint the boat\n- [fact] It is blue\n", path)
    assert verbs(tmp_path) == ["complete", "fill"]
    apply(tmp_path)
    assert [(memory.created, memory.status) for memory in memories(tmp_path, path)] == [
        (day(8), "completed"),
        (day(8), "active"),
    ]
    assert plan(tmp_path) == []


# --- Retired memories ------------------------------------------------------------------------------------------------


def test_deprecated_and_superseded_memories_leave_their_file(tmp_path: Path) -> None:
    text = (
        "# March\r\n\r\n<!-- by hand -->\r\n* [fact] Keep\r\n- Old {id=o}\r\n"
        "- Gone\r\n  with more {status=deprecated}\r\n+ Pinned {status=deprecated pin=true}\r\n\r\n- New {supersedes=o}"
    )
    workspace(tmp_path, text)
    apply(tmp_path, "--safe")
    left = text.replace("- Old {id=o}\r\n", "").replace("- Gone\r\n  with more {status=deprecated}\r\n", "")
    assert (tmp_path / FILE).read_bytes().decode() == left
    assert "> - Old {id=o}" in (tmp_path / "agents/a/memories/archive/m.md.txt").read_text()
    assert "no memory beside it" not in inside("check", "-w", tmp_path).out


def test_a_whole_file_is_archived_as_it_is(tmp_path: Path) -> None:
    text = "---\ntype: fact\nstatus: superseded\n---\nOld\n"
    fill(tmp_path, {FILE: text, "agents/a/memories/n.md": text, "agents/a/memories/archive/n.md": "other\n"})
    apply(tmp_path, "--safe")
    assert not (tmp_path / FILE).exists()
    assert (tmp_path / "agents/a/memories/archive/m.md").read_text() == text
    assert (tmp_path / "agents/a/memories/n.md").read_text() == text
    assert (tmp_path / "agents/a/memories/archive/n.md").read_text() == "other\n"


def test_nothing_comes_back_when_its_successor_leaves(tmp_path: Path) -> None:
    chain = "- One {id=one}\n- Two {id=two supersedes=one}\n- Three {id=three supersedes=two}\n"
    workspace(tmp_path, chain)
    assert [action["targets"] for action in plan(tmp_path)] == [[f"{FILE}:2", f"{FILE}:1"]]
    apply(tmp_path)
    assert [memory.id for memory in memories(tmp_path)] == ["three"]
    workspace(tmp_path, chain.replace("id=one", "id=one pin=true"))
    assert plan(tmp_path) == []


def test_a_stale_task_takes_along_what_it_supersedes(tmp_path: Path) -> None:
    workspace(tmp_path, f"- Old way {{id=o}}\n- [task] New way {{supersedes=o created={day(20)}}}\n")
    apply(tmp_path)
    assert [(memory.text, memory.status) for memory in memories(tmp_path)] == [("New way", "completed")]


def test_memories_that_supersede_each_other_stay(tmp_path: Path) -> None:
    workspace(tmp_path, "- One {id=one supersedes=two}\n- Two {id=two supersedes=one}\n- Me {id=me supersedes=me}\n")
    assert plan(tmp_path) == []


# --- Duplicates ------------------------------------------------------------------------------------------------------

LONG = "The foghorn is lowered from 9 to 4 decibels above speech and muffled in the lamp room"


def test_duplicates_are_reinforced_into_one(tmp_path: Path) -> None:
    old = f"- {LONG} {{created={day(9)} importance=0.4 tags=a}}"
    new = f"- [decision] {LONG}. {{created={day(3)} importance=0.9 tags=b,a key=horn}}"
    workspace(tmp_path, f"{old}\n{new}\n")
    (action,) = plan(tmp_path)
    assert (action["verb"], action["needs_approval"]) == ("reinforce", False)
    apply(tmp_path, "--safe")
    (memory,) = memories(tmp_path)
    assert memory == memory._replace(
        text=LONG, type="decision", created=day(9), accessed=day(3), importance=0.9, tags=("a", "b"), key="horn"
    )
    assert new in (tmp_path / "agents/a/memories/archive/m.md.txt").read_text()
    assert plan(tmp_path) == []


@pytest.mark.parametrize(
    "other",
    [
        LONG.replace("9", "8"),
        LONG.replace("is lowered", "is not lowered"),
        LONG + " {private=true}",
        LONG + f" {{expires={day(-9)}}}",
        LONG + " {key=other}",
        "[task] " + LONG + f" {{created={day(0)}}}",
        LONG + " and in the engine room below",
    ],
)
def test_memories_that_one_could_not_keep_stay_apart(tmp_path: Path, other: str) -> None:
    workspace(tmp_path, f"- [fact] {LONG} {{key=horn created={day(3)}}}\n- {other}\n")
    assert "reinforce" not in verbs(tmp_path)
    assert len(memories(tmp_path)) == 2


def test_thousands_of_equal_memories_become_one(tmp_path: Path) -> None:
    lines = [f"- {LONG} {{created={day(at)}}}" for at in range(3000)]
    text = "\n".join(lines) + "\n"
    workspace(tmp_path, text)
    (action,) = plan(tmp_path)
    assert str(action["reason"]).endswith(" and 2,996 more")
    assert len(action["targets"]) == len(lines)  # type: ignore[arg-type]
    apply(tmp_path, "--safe")
    archive = (tmp_path / "agents/a/memories/archive/m.md.txt").read_text()
    assert [line for line in lines[:-1] if f"> {line}" not in archive] == []
    assert len(archive) < 4 * len(text)
    assert [memory.created for memory in memories(tmp_path)] == [day(2999)]
    assert plan(tmp_path) == []


def test_classes_of_equal_memories_are_listed_once() -> None:
    document = decode_document(FILE, (f"- {LONG}\n" * 400 + f"- {LONG} now\n" * 400).encode())
    assert isinstance(document, Document)
    many = [memory._replace(id=str(at)) for at, memory in enumerate(parse_memories(document)[0])]
    similar = duplicates.SimilarMemories(many)
    names = {similar.class_of(memory) for memory in many}
    assert names == {"0", "400"}
    assert [[*similar.alike(name)] for name in ("0", "400")] == [["0", "400"], ["400", "0"]]
    assert [id_ for name in ("0", "400") for id_ in similar.members(name)] == [str(at) for at in range(800)]


def test_row_100_a_pinned_memory_is_never_moved(tmp_path: Path) -> None:
    """Row 100: of two duplicates the pinned one stays, and of two pinned ones both do."""
    workspace(tmp_path, f"- {LONG} {{created={day(9)}}}\n- {LONG}! {{pin=true}}\n- {LONG}. {{pin=true}}\n")
    apply(tmp_path)
    assert [memory.text for memory in memories(tmp_path)] == [f"{LONG}!", f"{LONG}."]


def test_secrets_and_hidden_characters_keep_a_memory_from_merging(tmp_path: Path) -> None:
    line = "- The key of the harbor cache in the machine room is AKIA"
    text = f"{line}QWERTYUIOPASDFGH\n{line}QWERTYUIOPASDFGJ\n- {LONG}\n- {LONG[:30]}\u200b{LONG[30:]}\n"
    workspace(tmp_path, text)
    assert plan(tmp_path) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_bytes_of_any_encoding(tmp_path: Path, encoding: str, end: str) -> None:
    rows = ["# März \u200b", "", f"- [task] Für Ø 🚢 {{created={day(30)}}}", "- Weg {status=deprecated}", "- Ende"]
    fill(tmp_path, {FILE: end.join(rows).encode(encoding)})
    apply(tmp_path)
    rows[2] = rows[2].replace("}", " status=completed}")
    assert (tmp_path / FILE).read_bytes() == end.join([*rows[:3], rows[4]]).encode(encoding)


# --- Consolidation ---------------------------------------------------------------------------------------------------

ALIKE = [
    "The harbor master counts the boats at dusk with a brass lamp of the tower",
    "The harbor master counts the boats at dusk with a paper book of the tower",
    "The harbor master counts the barges at dusk with a brass lamp of the chapel",
]


def many(count: int, alike: list[str]) -> str:
    """So many different memories, these among them."""
    words = "anchor bell cable deck engine flag gull hull iron jetty keel lamp mast net oar pier quay rope sail tide"
    names = words.split()
    others = [f"{name} of {'xyz'[n % 3] * 9}{name[::-1]} {n}" for n, name in enumerate(names)]
    lines = [*(f"[fact] {text}" for text in others[: count - len(alike)]), *alike]
    return "".join(f"- {line} {{created={day(5)}}}\n" for line in lines)


def test_row_36_only_above_20_active_memories(tmp_path: Path) -> None:
    """Row 36: 20 active memories: nothing; 21: clusters of three that are .80 alike; two are none."""
    workspace(tmp_path, many(20, ALIKE) + "- Draft {status=draft}\n")
    assert plan(tmp_path) == []
    workspace(tmp_path, many(21, ALIKE))
    assert verbs(tmp_path) == ["consolidate"]
    workspace(tmp_path, many(21, ALIKE[:2]))
    assert plan(tmp_path) == []


def test_row_37_members_point_to_one_memory_and_it_to_them(tmp_path: Path) -> None:
    """Row 37: importance = min(max + .1, 1); members keep a pointer, and none is deleted."""
    alike = [f"{text} {{importance=0.{n} tags=t{n}}}" for n, text in enumerate(ALIKE, 6)]
    text = many(24, []) + "".join(f"- {line}\n" for line in alike)
    workspace(tmp_path, text)
    assert [action["needs_approval"] for action in plan(tmp_path)] == [True]
    apply(tmp_path)
    *_, one, two, three, new = memories(tmp_path)
    assert {memory.status for memory in (one, two, three)} == {"consolidated"}
    assert {memory.superseded_by for memory in (one, two, three)} == {new.id}
    assert {*new.supersedes} == {one.id, two.id, three.id}
    assert (new.importance, new.status, {*new.tags}) == (0.9, "active", {"t6", "t7", "t8"})
    assert [memory.text for memory in (one, two, three)] == [line.partition(" {")[0] for line in alike]
    assert plan(tmp_path) == []
    assert "harbor master" in inside("build", "-w", tmp_path, "-a", "a", "--topic", "harbor master").out


# --- Conflicts, hygiene ----------------------------------------------------------------------------------------------


def test_conflicts_are_listed_and_never_decided(tmp_path: Path) -> None:
    workspace(
        tmp_path,
        "- Opens at ten {key=opening id=ten}\n- Opens at nine {key=opening}\n- Opens at ten! {key=other}\n"
        "- A stack {key=root/stack}\n- Another part {key=root/stack}\n- X {key=other2}\n- x {key=other2}\n",
    )
    (action,) = [action for action in plan(tmp_path) if action["verb"] != "reinforce"]
    assert action["verb"] == "settle"
    assert action["targets"] == [f"{FILE}:1", f"{FILE}:2"]
    before = (tmp_path / FILE).read_bytes().splitlines()[:2]
    apply(tmp_path)
    assert (tmp_path / FILE).read_bytes().splitlines()[:2] == before


def test_row_120_one_action_for_each_fault_and_no_change(tmp_path: Path) -> None:
    """Row 120: a workspace with planted faults yields one action each, and a plan changes nothing."""
    files = {
        FILE: f"- {LONG}\n- {LONG}.\n- [task] Old {{created={day(40)}}}\n- Out {{status=deprecated}}\n"
        f"- Over {{expires={day(2)}}}\n- Ten {{key=k}}\n- Nine boats {{key=k}}\n",
        f"teams/t/memories/{day(3)}.md": "- No day\n",
    }
    fill(tmp_path, files)
    assert sorted(verbs(tmp_path)) == ["archive", "complete", "expire", "fill", "reinforce", "settle"]
    assert {path: (tmp_path / path).read_text() for path in files} == files


def test_row_121_only_chosen_actions_are_applied(tmp_path: Path) -> None:
    """Row 121: the others stay, and a second run with the same ids changes nothing."""
    workspace(tmp_path, f"- [task] Old {{created={day(40)}}}\n- [task] Older {{created={day(50)}}}\n")
    _, older = plan(tmp_path)
    words = ("tidy", "-w", tmp_path, "--date", str(DAY), "--apply", str(older["id"]))
    assert inside(*words).code == 0
    assert [memory.status for memory in memories(tmp_path)] == ["active", "completed"]
    content = (tmp_path / FILE).read_bytes()
    inside(*words)
    assert (tmp_path / FILE).read_bytes() == content


def test_the_managed_block_and_comments_are_never_taken_along(tmp_path: Path) -> None:
    text = "- Old {status=deprecated}\n- Odd\n<!-- a note\nof two lines -->\n  {status=deprecated}\n"
    workspace(tmp_path, text)
    apply(tmp_path)
    assert (tmp_path / FILE).read_text() == text.partition("\n")[2]


def test_the_sample_a_year_on(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path, dirs_exist_ok=True)
    of_memories = [action for action in plan(tmp_path) if "/memories/" in str(action["targets"])]
    assert sorted(str(action["verb"]) for action in of_memories) == ["archive"] * 2 + ["complete"] * 5
    apply(tmp_path)
    assert plan(tmp_path) == []
    assert "supersedes" not in inside("check", "-w", tmp_path).out


def test_the_text_is_the_summarizers_if_there_is_a_trusted_one(tmp_path: Path) -> None:
    workspace(tmp_path, many(24, ALIKE))
    settings = "summarizer:\n  command: [sh, -c, 'cat > seen.txt; echo {}']\n"
    (tmp_path / "ctxasm.yaml").write_text(settings.format("The master counts boats of the tower and the chapel."))
    words = ("tidy", "-w", tmp_path, "--date", str(DAY), "--apply", "--all")
    assert inside(*words, env={"CTXASM_TRUST": str(tmp_path)}).code == 0
    assert memories(tmp_path)[-1].text == "The master counts boats of the tower and the chapel."
    assert (tmp_path / "seen.txt").read_text() == "".join(f"- {text}\n" for text in ALIKE)[:-1]
    (tmp_path / "seen.txt").unlink()
    workspace(tmp_path, many(24, ALIKE))
    assert inside(*words).code == 0
    assert memories(tmp_path)[-1].text == f"{ALIKE[0]}. {ALIKE[1]}"
    assert not (tmp_path / "seen.txt").exists()
