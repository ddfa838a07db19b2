"""The law of upkeep and privacy: a tidied workspace shows nothing that it did not show before."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import SMALL, fill, inside
from tests.upkeep.memories.test_memories import ALIKE, many

MARK = "zanzibar"
"""A word of every private text, and of every log that is excluded."""

PLAIN = ("[fact] The lamp is green", "[fact] The lamp is green.", *ALIKE)
FIELDS = ("", " {status=deprecated}", " {created=2026-01-01}", " {importance=0.9 tags=sea}")
NIGHT = "agents/a/daily/*-night.md"
LAYER = f"{{id: night, heading: Night, source: daily, path: '{NIGHT}', private: true}}"
PROFILE = f"extends: default\nlayers:\n  - {LAYER}\n"


@st.composite
def memory_files(draw: st.DrawFn) -> str:
    """List items, the private ones below a heading that says so, or with a field; nearly the same as public ones."""
    items = st.builds("- {}{}".format, st.sampled_from(PLAIN), st.sampled_from(FIELDS))
    public, hidden = (draw(st.lists(items, max_size=6)) for _ in range(2))
    hidden = [item.replace("The", f"The {MARK}").replace("lamp", MARK) for item in hidden]
    hidden += [item.replace("[fact] The", "[fact] Our") for item in hidden[:2]]
    text = "\n".join(["## Hidden {private=true}", "", *hidden, "", "## Open", "", *public, ""])
    if draw(st.booleans()):
        fields = [
            f"{each.rstrip('}')} private=true}}" if "{" in each else f"{each} {{private=true}}" for each in hidden
        ]
        text = "\n".join([*public, *fields, ""])
    elif draw(st.booleans()):
        text = "\n".join(["---", "private: true", "---", *hidden, ""])
    return text + draw(st.sampled_from(("", many(20, []) if text.endswith("\n") else "")))


@given(st.lists(memory_files(), min_size=1, max_size=2), st.booleans(), st.sampled_from(["--safe", "--all"]))
def test_nothing_private_or_excluded_is_shown_for_having_been_tidied(
    texts: list[str], compress: bool, which: str
) -> None:
    logs = {f"agents/a/daily/2025-03-1{day}-night.md": f"- The {MARK} lamp\n" for day in range(2)}
    logs |= {"agents/a/daily/2025-03-12.md": f"- The green lamp\n- {MARK} {{private=true}}\n"}
    settings = f"profile: p.yaml\nupkeep:\n  logs: {{compress: {str(compress).lower()}}}\n"
    files = {f"agents/a/memories/{number}.md": text for number, text in enumerate(texts)}
    with TemporaryDirectory() as folder:
        root = fill(Path(folder), {**SMALL, "ctxasm.yaml": settings, "p.yaml": PROFILE, **files, **logs})
        day = ("-w", root, "--date", "2026-03-14")
        words = (*day, "--topic", "lamp harbor master")
        for _ in range(2):
            assert MARK not in inside("build", *words, "--audience", "shared", "-f", "json").out
            excluded = (
                "--exclude",
                NIGHT,
                "--exclude",
                "agents/a/memories/*",
                "--exclude",
                "agents/a/daily/2025-03-12.md",
            )
            assert MARK not in inside("build", *words, *excluded).out
            found = inside(
                "search", "-w", root, "--archive", "--top", "99", "--audience", "shared", f"{MARK} lamp harbor"
            )
            assert MARK not in found.out
            assert inside("tidy", *day, "--apply", which).code == 0


DIARY = "{id: diary, heading: Diary, source: document, path: 'agents/{agent}/memories/diary.md', private: true}"


@pytest.mark.parametrize("settings", ["profile: p.yaml\n", "outputs:\n  - {file: out.md, profile: p.yaml}\n"])
@pytest.mark.parametrize("copy", [False, True])
def test_a_file_of_a_private_layer_is_merged_with_no_public_one(tmp_path: Path, settings: str, copy: bool) -> None:
    hidden = f"- The {MARK} lamp is green and stands at the harbor {{key=lamp importance=0.9 tags=sea}}\n"
    root = fill(tmp_path, {
        **SMALL,
        "ctxasm.yaml": settings,
        "p.yaml": f"extends: default\nlayers:\n  - {DIARY}\n",
        "agents/a/memories/diary.md": hidden,
        "agents/a/memories/open.md": f"- The {MARK} lamp is green and stands at the harbor.\n",
        **({"agents/a/memories/z.md": hidden} if copy else {}),
    })  # fmt: skip
    before = (root / "agents/a/memories/open.md").read_bytes()
    planned = json.loads(inside("tidy", "-w", root, "--date", "2026-03-14", "--json").out)["actions"]
    assert [action["targets"] for action in planned] == (
        [["agents/a/memories/diary.md:1", "agents/a/memories/z.md:1"]] if copy else []
    )
    assert MARK not in str(planned)
    assert inside("tidy", "-w", root, "--date", "2026-03-14", "--apply", "--all").code == 0
    assert (root / "agents/a/memories/open.md").read_bytes() == before
