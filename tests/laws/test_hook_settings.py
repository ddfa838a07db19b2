"""Hooks are put into settings and taken out again, for random JSON: what is not ours keeps its bytes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.hosts.loader import host_names
from contextasm.config.input.options import Options
from contextasm.integrations.hook import hook_call
from contextasm.integrations.hook_settings import SettingsFile

WORDS = st.text(alphabet='aé港"\\/ {}[],:\n', max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
OTHERS = st.lists(st.fixed_dictionaries({"hooks": st.just([{"command": "lint"}]), "env": VALUES}), max_size=2)
EVENTS = st.dictionaries(st.sampled_from(["SessionStart", "UserPromptSubmit", "BeforeAgent", "Stop"]), OTHERS)
SETTINGS = st.dictionaries(WORDS, VALUES | EVENTS, max_size=3) | st.builds(lambda each: {"hooks": each, "z": 1}, EVENTS)
FORMS = st.sampled_from([{}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}, {"ensure_ascii": False}])
BYTES = st.builds(
    lambda value, form, end, mark: mark + (json.dumps(value, **form) + end).replace("\n", end or "\n").encode(),
    *(SETTINGS, FORMS, st.sampled_from(["", "\n", "\r\n"]), st.sampled_from([b"", b"\xef\xbb\xbf"])),
)


def changed(root: Path, host: str, team: str | None) -> bytes | None:
    """The settings after the hooks of a team are put in, or for None taken out."""
    file = SettingsFile(str(root), hook_call(host, Options(team=team), None, None))
    if (new := file.changed(removes=team is None)) != file.data:
        file.write(new)
    return new


@given(st.none() | BYTES, st.sampled_from(host_names(with_hook=True)))
def test_install_then_uninstall_gives_the_old_bytes(old: bytes | None, host: str) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        path = root / hook_call(host, Options(), None, None).rules[0].settings
        if old is not None:
            path.parent.mkdir(parents=True)
            path.write_bytes(old)
        first = changed(root, host, "a") or b""
        assert changed(root, host, "a") == first == path.read_bytes()
        letters = iter(first.decode())
        assert all(letter in letters for letter in (old or b"").decode())
        second = changed(root, host, "b") or b""
        assert (b"--team a" in second, second.count(b"--team b")) == (False, first.count(b"--team a") or None)
        assert changed(root, host, None) == old
        assert path.exists() == bool(os.listdir(root)) == (old is not None)
