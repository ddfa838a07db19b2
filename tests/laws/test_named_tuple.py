"""The `NamedTuple` of the package makes what the one of `typing` makes."""

import copy
import inspect
import keyword
import pickle
import typing
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import named_tuple

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True).filter(lambda name: not keyword.iskeyword(name))

FIELDS = st.lists(NAMES, unique=True, min_size=1, max_size=30).filter(lambda names: not {"count", "index"} & {*names})

SOURCE = '''
class Row(NamedTuple{base}):
    """A row."""
{fields}
    def total(self) -> int:
        return len(self)
'''


def made(kind: object, source: str) -> typing.Any:
    """The class of a source with this `NamedTuple`; it is a name of this module, where pickle looks for it."""
    names = {"NamedTuple": kind, "Generic": typing.Generic, "T": typing.TypeVar("T"), "__name__": __name__}
    exec(source, names)  # noqa: S102 - a class statement is what is tested
    return names["Row"]


def outcome(call: Callable[..., object], *values: object, **named: object) -> object:
    """What a call gives, or the error that it ends in."""
    try:
        return call(*values, **named)
    except (TypeError, ValueError, AttributeError) as error:  # Python 3.13 made a TypeError of one ValueError
        return "an error", str(error)


@given(FIELDS, st.data())
def test_law_records_are_those_of_typing(names: list[str], data: st.DataObject) -> None:
    required = data.draw(st.integers(0, len(names)))
    rows = [f"    {name}: 'no type at all'{f' = {n}' if n >= required else ''}\n" for n, name in enumerate(names)]
    source = SOURCE.format(base=data.draw(st.sampled_from(("", ", Generic[T]"))), fields="".join(rows))
    values = data.draw(st.lists(st.integers(), max_size=len(names) + 1))
    named = data.draw(st.dictionaries(st.sampled_from([*names, "nothing"]), st.text()))
    seen = []
    for kind in (typing.NamedTuple, named_tuple.NamedTuple):
        row = made(kind, source.replace("no type at all", "int") if kind is typing.NamedTuple else source)
        globals()["Row"] = row
        record = outcome(row, *values, **named)
        about = [
            *(row._fields, row._field_defaults, row.__match_args__, row.__doc__, row.__slots__, row.__bases__),
            *(row.__name__, row.__qualname__, row.__module__, {*dir(row)} - {"__orig_bases__", "__replace__"}),
            *([*row.__annotations__], [*inspect.signature(row).parameters], outcome(row._make, values)),
            *(record, repr(record)),
        ]
        if isinstance(record, row):
            again = [pickle.loads(pickle.dumps(record)), copy.copy(record), copy.deepcopy(record)]  # noqa: S301 - ours
            assert [type(each) for each in again] == [row] * 3
            about += [again, record._asdict(), hash(record), record.total(), [getattr(record, name) for name in names]]
            about += [outcome(record._replace, **named), record < (*record, 1), outcome(setattr, record, "other", 1)]
        seen.append(about)
    assert seen[0] == seen[1]


@pytest.mark.skipif(named_tuple.NamedTuple is typing.NamedTuple, reason="this Python gets the one of typing")
def test_type_is_read_only_if_it_is_asked_for() -> None:
    row = made(named_tuple.NamedTuple, SOURCE.format(base="", fields="    a: 'not a type'\n"))
    assert row.__annotations__ == {"a": "not a type"}
    with pytest.raises(SyntaxError):
        typing.get_type_hints(row)
