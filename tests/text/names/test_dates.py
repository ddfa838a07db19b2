"""Small readings of text: each spelling of a day where its place allows it, and the nearest of several names."""

from datetime import date

import pytest

from contextasm.text.names.dates import is_date_form, leading_date_form, leading_iso_day, parse_date, parse_leading_date
from contextasm.text.names.matching import nearest

DAY = date(2025, 3, 10)


@pytest.mark.parametrize(
    ("text", "whole", "leading", "iso"),
    [
        ("2025-03-10", DAY, DAY, "2025-03-10"),
        ("2025-03-10T09:30", None, DAY, "2025-03-10"),
        ("2025-03-10 standup", None, DAY, "2025-03-10"),
        ("2025-03-101", None, None, "2025-03-10"),
        ("20250310", None, None, "2025-03-10"),
        ("2025-W11-1", None, None, "2025-03-10"),
        ("2025-02-30", None, None, ""),
        (" 2025-03-10", None, None, ""),
        ("", None, None, ""),
    ],
)
def test_each_reader_of_days_accepts_its_forms(text: str, whole: date | None, leading: date | None, iso: str) -> None:
    assert (parse_date(text), parse_leading_date(text), leading_iso_day(text)) == (whole, leading, iso)


def test_a_day_that_no_calendar_has_still_has_the_form() -> None:
    assert is_date_form("2025-02-30")
    assert leading_date_form("2025-02-30 standup") == "2025-02-30"


@pytest.mark.parametrize(
    ("name", "least", "answer"),
    [
        ("Importence", 0.5, "importance"),
        ("importence", 0.8, "importance"),
        ("tag", 0.8, "tags"),
        ("title", 0.8, ""),
        ("xyz", 0.5, ""),
        ("", 0.5, ""),
    ],
)
def test_nearest_name(name: str, least: float, answer: str) -> None:
    assert nearest(name, ["importance", "tags", "tier"], least) == answer
