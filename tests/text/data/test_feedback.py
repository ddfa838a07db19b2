"""Lines of feedback: what they say together, and what becomes of lines that say nothing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import Document
from contextasm.text.data.events import Feedback, count_judgements, feedback_line, parse_feedback
from tests.workspaces import document

TEXTS = st.lists(st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1), unique=True, max_size=4)


def file(*lines: str) -> Document:
    """A file of these lines."""
    return document("".join(f"{line}\n" for line in lines), "feedback/2025-03.jsonl")


def line(**fields: Any) -> str:
    """A line of feedback on the record `r`."""
    return json.dumps({"type": "feedback", "time": "2025-03-14", "record": "r", "shown": 3, **fields})


def parsed(*lines: str, last_day: str = "2025-03-14") -> list[Feedback]:
    """The feedback of a file, which has no problems."""
    found, problems = parse_feedback([file(*lines)], last_day)
    assert not problems
    return [*found]


@given(
    useful=TEXTS,
    missing=st.lists(st.sampled_from(("Who owns it?", "two\nlines", 'a "quote"', "Ärger")), unique=True),
    shown=st.integers(0, 99),
    coherence=st.none() | st.floats(0, 1),
)
def test_a_line_is_read_as_it_was_written(
    useful: list[str], missing: list[str], shown: int, coherence: float | None
) -> None:
    said = Feedback("r", "2025-03-14", shown, coherence, tuple(useful), (), tuple(missing))
    assert "\n" not in feedback_line(said)
    assert parsed(feedback_line(said)) == [said]


def test_a_later_judgement_of_one_record_replaces_the_earlier_one() -> None:
    (same,) = parsed(line(useful=["a", "b"]), line(useful=["a", "b"]))
    assert count_judgements([same]) == {"a": (1, 0), "b": (1, 0)}
    (put_right,) = parsed(line(useful=["a", "b"], coherence=0.5, missing=["x"]), line(wrong=["a"], missing=["y"]))
    assert (put_right.useful, put_right.wrong, put_right.missing) == (("b",), ("a",), ("x", "y"))
    assert put_right.coherence == 0.5


def test_judgements_of_several_records_add_up() -> None:
    lines = [line(record=f"r{number}", useful=["a"]) for number in range(3)]
    assert count_judgements(parsed(*lines, line(record="q", wrong=["a"])))["a"] == (3, 1)


def test_a_later_day_than_the_build_says_nothing() -> None:
    assert parsed(line(), line(record="q", time="2025-03-15")) == parsed(line())


@pytest.mark.parametrize(
    "wrong",
    [
        "{torn",
        '{"type": "turn"}',
        line(record=""),
        line(record=7),
        line(shown=-1),
        line(shown=True),
        line(coherence=1.5),
        line(coherence="much"),
        line(useful="a"),
        line(wrong=[1]),
        line(useful=["a"], wrong=["a"]),
    ],
)
def test_a_line_that_is_no_feedback_is_a_problem_and_the_others_count(wrong: str) -> None:
    found, problems = parse_feedback([file(line(useful=["a"]), wrong)], "2025-03-14")
    assert [each.useful for each in found] == [("a",)]
    assert [(each.path, each.line) for each in problems] == [("feedback/2025-03.jsonl", 2)]
