"""The plan of memories: what is over, said twice, scattered, incomplete or contradictory."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from datetime import date, timedelta
from itertools import product
from pathlib import Path

import pytest

from contextasm.model import Document, Memory
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.memories.parser import parse_memories
from contextasm.upkeep.memories import merging as duplicates
from tests.command import SAMPLE, SMALL, fill, inside

DAY = date(2026, 3, 14)
FILE = "agents/a/memories/m.md"
LEAKED = "AKIAQWERTYUIOPASDFGH"


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


# --- Duplicates ------------------------------------------------------------------------------------------------------

LONG = "The foghorn is lowered from 9 to 4 decibels above speech and muffled in the lamp room"


def test_thousands_of_equal_memories_become_one(tmp_path: Path) -> None:
    lines = [f"- {LONG} {{created={day(at)}}}" for at in range(3000)]
    text = "\n".join(lines) + "\n"
    workspace(tmp_path, text)
    (action,) = plan(tmp_path)
    assert " and 2,996 more say the same as " in str(action["reason"])
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


def test_secrets_and_hidden_characters_keep_a_memory_from_merging(tmp_path: Path) -> None:
    line = "- The key of the harbor cache in the machine room is AKIA"
    text = f"{line}QWERTYUIOPASDFGH\n{line}QWERTYUIOPASDFGJ\n- {LONG}\n- {LONG[:30]}\u200b{LONG[30:]}\n"
    workspace(tmp_path, text)
    assert verbs(tmp_path) == ["redact", "redact"]
    apply(tmp_path, "--safe")
    assert (tmp_path / FILE).read_text() == text


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
        "ctxasm.yaml": "profile: brain\n",
        FILE: f"- {LONG}\n- {LONG}.\n- [task] Old {{created={day(40)}}}\n- Out {{status=deprecated}}\n"
        f"- Over {{expires={day(2)}}}\n- Ten {{key=k}}\n- Nine boats {{key=k}}\n",
        f"teams/t/memories/{day(3)}.md": "- No day\n",
        "teams/u/memories/m.md": f"- It is {LEAKED}\n- Tagged {{tags=Bad_Tag}}\n- One {{id=x}}\n- Another {{id=x}}\n"
        "- Ropes {supersedes=gone}\n- Before {superseded_by=now}\n- Since then {id=now}\n",
    }
    fill(tmp_path, files)
    wrong = ["link", "link", "redact", "rename", "retag"]
    assert sorted(verbs(tmp_path)) == sorted(["archive", "complete", "expire", "fill", "reinforce", "settle", *wrong])
    assert {path: (tmp_path / path).read_text() for path in files} == files
    assert LEAKED not in str(plan(tmp_path))


REPAIRED = [
    ('- One {id=x}\n- Two {id=x}\n- Three {id="x~2"}\n', "- One {id=x}\n- Two {id=x~2}\n- Three {id=x~2~2}\n"),
    ("---\nid: x\n---\n- One\n- Two\n", "---\nid: x\n---\n- One\n- Two {id=x~2}\n"),
    ("- New {id=n supersedes=gone,far}\n", "- New {id=n}\n"),
    ("- New {supersedes=gone key=a}\n", "- New {key=a}\n"),
    ("- New {a=b} {supersedes=gone}\n", '- New {a=b} {supersedes=""}\n'),
    ("- New {supersedes=gone}\n", '- New {supersedes=""}\n'),
    ("---\ntype: fact\nsupersedes: [gone]\n---\nNew\n", '---\ntype: fact\nsupersedes: ""\n---\nNew\n'),
    ("---\nsupersedes: gone\n---\n- New {id=n}\n", '---\nsupersedes: gone\n---\n- New {id=n supersedes=""}\n'),
    ("- Old {superseded_by=gone importance=0.4}\n", "- Old {importance=0.4}\n"),
    ("- Old {status=consolidated superseded_by=gone}\n", "- Old {status=consolidated}\n"),
    (
        "- Old {superseded_by=n pin=true id=o}\n- New {id=n}\n",
        "- Old {superseded_by=n pin=true id=o}\n- New {id=n supersedes=o}\n",
    ),
    ("- A {tags=Bad_Tag,fine,bad-tag key=Root/Code_Style}\n", "- A {tags=bad-tag,fine key=root/code-style}\n"),
]


@pytest.mark.parametrize(("before", "after"), REPAIRED)
def test_row_120_wrong_ids_links_and_tags_are_repaired(tmp_path: Path, before: str, after: str) -> None:
    fill(tmp_path, {"ctxasm.yaml": "profile: brain\n", FILE: before})
    apply(tmp_path)
    assert (tmp_path / FILE).read_text() == after
    assert plan(tmp_path) == []


@pytest.mark.parametrize(
    "text",
    [
        "- A {tags=C++,Décor key=root//x}\n",  # the form of a schema would be another word
        "- A {id=a superseded_by=b}\n- B {id=b superseded_by=a}\n",  # adding both links would hide both
        "- A {id=a supersedes=b}\n- B {id=b superseded_by=a pin=true}\n",
        "- A {superseded_by=b}\n- B {id=b status=draft}\n",
        "- A {superseded_by=b}\n- B {id=b private=true}\n",
        f"- A {{superseded_by={FILE}}}\n",
        "- Draft {supersedes=gone status=draft}\n",
    ],
)
def test_row_120_what_only_a_person_can_decide_stays(tmp_path: Path, text: str) -> None:
    fill(tmp_path, {"ctxasm.yaml": "profile: brain\n", FILE: text})
    assert plan(tmp_path) == []


def test_row_120_tags_have_no_form_without_a_profile_that_gives_one(tmp_path: Path) -> None:
    workspace(tmp_path, "- Tagged {tags=Bad_Tag}\n")
    assert plan(tmp_path) == []


def test_row_120_a_doubled_id_that_builds_call_the_same_is_safe(tmp_path: Path) -> None:
    """A build shows the same; and what the second one is part of waits for its id."""
    workspace(
        tmp_path, f"- One {{id=x}}\n- Two {{id=x status=deprecated}}\n- [task] Three {{id=x created={day(30)}}}\n"
    )
    assert verbs(tmp_path) == ["rename", "rename"]
    apply(tmp_path, "--safe")
    assert [memory.id for memory in memories(tmp_path)] == ["x", "x~3"]
    assert verbs(tmp_path) == ["complete"]


KEY = (
    "-----BEGIN RSA PRIVATE KEY-----",
    "MIIEpAIBAAKCAQEAtPOfQ2sNn0gH1rT5bU8vJw3kQzXlYdRe",
    "-----END RSA PRIVATE KEY-----",
)
REDACTED = [
    (f"- It is {LEAKED} here\n", "- It is [masked:aws-access-key-id] here\n"),
    (f"- One\n  {LEAKED}\n- \u200bTwo\n", "- One\n  [masked:aws-access-key-id]\n- \u200bTwo\n"),
    (f"- One {{key={LEAKED}}}\n", "- One {key=[masked:aws-access-key-id]}\n"),
    (f"---\ntype: fact\nkey: {LEAKED}\n---\nText\n", "---\ntype: fact\nkey: [masked:aws-access-key-id]\n---\nText\n"),
    ("- K {}\n  {}\n  {}\n- Two\n".format(*KEY), "- K [masked:private-key]\n\n\n- Two\n"),
    (
        "- K {}\n  {}\n  {} done {{id=k}}\n- \u200bTwo\n".format(*KEY),
        "- K [masked:private-key]\n\n done {id=k}\n- \u200bTwo\n",
    ),
    ("- K {}\n  {} {} done\n".format(*KEY), "- K [masked:private-key]\n done\n"),
    (
        "- K {}\n  {}\n  {} and {}\n".format(*KEY, LEAKED),
        "- K [masked:private-key]\n\n and [masked:aws-access-key-id]\n",
    ),
    (f"- Hid {LEAKED[:9]}\u200b{LEAKED[9:]}\n", "- Hid [masked:aws-access-key-id]\n"),
]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("before", "after"), REDACTED)
def test_row_120_a_mask_takes_the_place_of_a_secret(tmp_path: Path, before: str, after: str, end: str) -> None:
    """Row 120: redact; builds show what they showed, only the lines of the secret change, and undo has it again."""
    fill(tmp_path, {**SMALL, FILE: before.replace("\n", end).encode()})
    words = ("build", "-w", tmp_path, "-a", "a", "--topic", "it", "--date", str(DAY))
    shown = inside(*words).out
    (action,) = plan(tmp_path)
    assert action["needs_approval"]
    assert "git's history and .tidy/ still hold it" in str(action["reason"])
    apply(tmp_path)
    assert (tmp_path / FILE).read_bytes().decode() == after.replace("\n", end)
    assert inside(*words).out == shown
    assert plan(tmp_path) == []
    assert inside("tidy", "-w", tmp_path, "--undo").code == 0
    assert (tmp_path / FILE).read_bytes().decode() == before.replace("\n", end)


def test_row_120_nothing_with_a_secret_goes_to_an_archive(tmp_path: Path) -> None:
    """Row 120: what supersedes it, too, waits for the mask, so that it is not shown again."""
    text = f"- End with {LEAKED} <!-- ctxasm: allow-secret -->\n- Out {LEAKED} {{status=deprecated}}\n"
    text += f"- Old {LEAKED} {{id=o}}\n- [task] New {{supersedes=o created={day(30)}}}\n"
    workspace(tmp_path, text)
    assert verbs(tmp_path) == ["redact", "redact"]
    apply(tmp_path)
    archive = (tmp_path / "agents/a/memories/archive/m.md.txt").read_text()
    assert archive.count("[masked:aws-access-key-id]") >= 2
    assert LEAKED not in archive
    assert [memory.status for memory in memories(tmp_path)] == ["active", "completed"]


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
    assert [memory.text for memory in memories(tmp_path) if memory.supersedes] == ALIKE[:1]
    assert not (tmp_path / "seen.txt").exists()


def test_an_embedder_finds_what_belongs_together_and_no_other_name(tmp_path: Path) -> None:
    pairs = product(("harbor", "Bremen"), ("opens", "starts", "begins"))
    alike = [f"The {place} demo {verb} with the bell scene" for place, verb in pairs]
    program = "import sys\nfor line in sys.stdin: print([1, 0] if 'demo' in line else [0, 1])\n"
    fill(tmp_path, {"emb.py": program, "ctxasm.yaml": f"embedder: {{command: [{sys.executable}, emb.py]}}\n"})
    workspace(tmp_path, many(26, alike))
    env = {"CTXASM_TRUST": str(tmp_path)}
    words = ("tidy", "-w", tmp_path, "--date", str(DAY))
    assert "the embedder is not used, so" in inside(*words).out
    done = inside(*words, "--json", env=env)
    assert [action["targets"] for action in json.loads(done.out)["actions"]] == [
        [f"{FILE}:{line}" for line in lines] for lines in ((26, 24, 25), (23, 21, 22))
    ]
    assert inside(*words, "--apply", "--all", env=env).code == 0
    assert [memory.text for memory in memories(tmp_path) if memory.supersedes] == [alike[2], alike[5]]
