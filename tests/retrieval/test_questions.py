"""What people of the studio in the sample workspace ask is in the context that is built for the question."""

import pytest

from tests.command import SAMPLE, inside
from tests.questions import Evidence, sample_questions

QUESTIONS = sample_questions()


@pytest.mark.parametrize("line", sorted({line for one in QUESTIONS for fact in one.needs for line in fact}))
def test_each_line_that_answers_stands_in_its_file_once(line: Evidence) -> None:
    text = (SAMPLE / line.path).read_text(encoding="utf-8")
    assert [line.text in row for row in text.splitlines()].count(True) == 1


def test_two_thousand_tokens_hold_nine_of_ten_facts_that_are_asked_for() -> None:
    missing, facts = [], 0
    for question in QUESTIONS:
        result = inside(*question.words, "-w", SAMPLE)
        assert (result.code, result.err) == (0, "")
        facts += len(question.needs)
        missing += [question.text] * (len(question.needs) - question.held(result.out))
    assert len(missing) <= facts * 0.1, missing
