"""Forms of dates in names of logs."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.text.names.dates import dated_name, form_patterns, read_form
from contextasm.text.names.glob import matching_paths

DAY = date(2025, 3, 4)

FORMS = {
    "YYYY_MM_DD": "2025_03_04",
    "DD-MM-YYYY": "04-03-2025",
    "YYYY/MM/DD": "2025/03/04",
    "YYYY/YYYY-MM-DD": "2025/2025-03-04",
    "YYYYMM/YYYYMMDD": "202503/20250304",
    "YYYY/MM-MMMM/YYYY-MM-DD dddd": "2025/03-March/2025-03-04 Tuesday",
    "D.M.YY": "4.3.25",
    "[log] YYYY-MM-DD": "log 2025-03-04",
    "YYYY-MM-Do": "2025-03-4th",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_reads_its_names_and_lists_them(form: str) -> None:
    path = f"journal/{FORMS[form]}.md"
    assert dated_name(path, (form,))[:2] == (FORMS[form], DAY)
    assert [*matching_paths([path, "journal/other.md"], *form_patterns("journal", form))] == [path]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("MMMM D, YYYY", "writes the month in words"),
        ("YYYY-MM", "has no day"),
        ("YYYY-[W]ww", "has ww"),
        ("", "has no year"),
        ("../YYYY-MM-DD", "folder without a name"),
    ],
)
def test_a_form_that_names_no_day_in_digits_is_refused_with_the_reason(form: str, words: str) -> None:
    fault = read_form(form)
    assert isinstance(fault, str)
    assert words in fault


def test_a_folder_that_disagrees_with_the_name_is_no_date() -> None:
    assert dated_name("2024/2025-03-04.md", ("YYYY/YYYY-MM-DD",))[:2] == ("2024/2025-03-04", None)


@given(st.integers(0, 30_000), st.sampled_from(["YYYY_MM_DD", "DD-MM-YYYY", "YYYY/MM/DD", "D.M.YYYY", "YYYYMMDD"]))
def test_every_day_comes_back(number: int, form: str) -> None:
    day = date(1970, 1, 1) + timedelta(days=number)
    digits = (
        ("YYYY", f"{day:%Y}"),
        ("MM", f"{day:%m}"),
        ("DD", f"{day:%d}"),
        ("D", str(day.day)),
        ("M", str(day.month)),
    )
    name = form
    for token, written in digits:
        name = name.replace(token, written)
    assert dated_name(f"{name}.md", (form,))[1] == day


@given(st.text(max_size=40))
def test_any_form_is_usable_or_has_a_reason(form: str) -> None:
    read = read_form(form)
    assert read
