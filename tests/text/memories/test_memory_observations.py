"""Files with a `type` in front: one memory, or a list of observations as basic-memory writes them."""

import pytest

from contextasm.text.memories.parser import parse_memories
from tests.workspaces import document

FRONT = "---\ntitle: Coffee\ntype: note\npermalink: coffee\n---\n"

OBSERVATIONS = (
    "# Coffee\n\n## Observations\n- [method] Pour over takes three minutes #brew (kitchen)\n- [tip] Grind late\n"
)


def texts(body: str) -> list[tuple[str, str]]:
    """Type and text of each memory of a file with this body."""
    return [(memory.type, memory.text) for memory in parse_memories(document(FRONT + body))[0]]


def test_observations_are_the_memories_of_a_file_without_a_text_of_its_own() -> None:
    relation = "\n## Relations\n- relates_to [[Tea]]\n"
    assert texts(OBSERVATIONS + relation) == [
        ("method", "Pour over takes three minutes #brew (kitchen)"),
        ("tip", "Grind late"),
        ("note", "relates_to [[Tea]]"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("Coffee is a drink.\n\n" + OBSERVATIONS, id="text"),
        pytest.param("# Schema\n\n- `id`: the key\n- `name`: the name\n", id="plain bullets"),
        pytest.param("- [x] done\n- [ ] open\n", id="tasks"),
        pytest.param(OBSERVATIONS + "\n```\ncode\n```\n", id="code"),
    ],
)
def test_a_file_with_a_text_is_one_memory(body: str) -> None:
    assert len(texts(body)) == 1


@pytest.mark.parametrize("name", ["index.md", "log.md"])
def test_a_reserved_name_holds_no_memory_and_a_lost_one_is_told(name: str) -> None:
    listing = document("# fact\n\n* [One](one.md)\n- [x] done\n", f"agents/a/memories/{name}")
    assert parse_memories(listing) == ((), ())
    memories, (problem,) = parse_memories(document("# Notes\n\n- [fact] One\n", f"agents/a/memories/{name}"))
    assert (memories, problem.code, problem.line) == ((), "no-memory", 3)
    assert len(parse_memories(document("- [fact] One\n", f"agents/a/memories/my-{name}"))[0]) == 1
