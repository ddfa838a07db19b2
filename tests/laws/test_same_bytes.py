"""The same inputs give the same bytes, on any machine; and building changes nothing (rows 26, 126 and 127)."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import pytest

from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.resolve import prepare_build
from tests.command import LUNA, SAMPLE, fill, inside, python
from tests.laws.test_determinism import shuffled_folders

REQUESTS = {
    "markdown": ("build", "-q"),
    "json": ("build", "-q", "-f", "json", "-b", "2k"),
    "exact": ("build", "-q", "--tokenizer", "o200k_base", "-b", "3000"),
    "explain": ("explain", "-v", "-b", "2k"),
}

SURROUNDINGS: Mapping[str, Mapping[str, str]] = {
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONHASHSEED": "0"},
    "Turkish in Kiritimati": {
        "LC_ALL": "tr_TR.UTF-8",
        "LANGUAGE": "tr",
        "TZ": "Pacific/Kiritimati",
        "PYTHONHASHSEED": "1",
    },
    "German in Samoa": {"LC_ALL": "de_DE.ISO-8859-1", "TZ": "Pacific/Pago_Pago", "PYTHONHASHSEED": "4294967295"},
    "a terminal of 20 columns": {"COLUMNS": "20", "LINES": "5", "TERM": "dumb", "NO_COLOR": "1"},
}


EVERY_REQUEST = """
import json, sys
from contextasm.cli.app import run
for words in json.loads(sys.argv[1]):
    print("exit code", run(words), flush=True)
"""


def test_builds_are_equal_whatever_the_locale_the_zone_and_the_hash_seed() -> None:
    """P19: row 126: the surroundings are no input."""
    every = json.dumps([(*words, *LUNA) for words in REQUESTS.values()])
    plain = python(EVERY_REQUEST, every, env={"PYTHONHASHSEED": "7"})
    assert plain.code == 0, plain.err
    assert plain.out.count("exit code 0\n") == len(REQUESTS)
    for name, env in SURROUNDINGS.items():
        assert python(EVERY_REQUEST, every, env=env) == plain, name


@pytest.mark.parametrize("seed", range(4))
def test_builds_are_equal_whatever_order_the_disk_lists_files_in(tmp_path: Path, seed: int) -> None:
    """Row 126: made in another order, and listed in another one."""
    random = Random(seed)
    files = [path for path in SAMPLE.rglob("*") if path.is_file()]
    random.shuffle(files)
    for path in files:
        target = tmp_path / path.relative_to(SAMPLE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        os.utime(target, (random.randrange(10**9), random.randrange(10**9)))
    plain = {name: inside(*words, *LUNA) for name, words in REQUESTS.items()}
    own = ("-w", str(tmp_path), "-a", "luna", "-t", "q1")
    with shuffled_folders(seed):
        assert {name: inside(*words, *own) for name, words in REQUESTS.items()} == plain


def test_named_day_decides_and_not_the_clock() -> None:
    """P19: row 26: with a date there is no question to the clock at all."""

    def never() -> float:
        raise AssertionError("the clock was asked")

    flags = Options(workspace=str(SAMPLE), agent="luna", date="2025-03-14")
    job = prepare_build(flags, ProcessEnvironment({}, "/", never))
    assert job.build.request.date.isoformat() == "2025-03-14"


@pytest.mark.parametrize(
    ("zone", "day"), [("Pacific/Kiritimati", "2025-03-15"), ("UTC", "2025-03-14"), ("Pacific/Pago_Pago", "2025-03-13")]
)
def test_clock_is_asked_once_and_the_zone_decides_on_the_day(tmp_path: Path, zone: str, day: str) -> None:
    asked: list[float] = []

    def clock() -> float:
        asked.append(1741948200.0)
        return asked[-1]

    job = prepare_build(Options(tz=zone), ProcessEnvironment({}, str(fill(tmp_path, {})), clock))
    assert (job.build.request.date.isoformat(), len(asked)) == (day, 1)


@pytest.mark.parametrize(("seconds", "day"), [("1741948200", "2025-03-14"), ("0", "1970-01-01")])
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_source_date_epoch_is_a_day_in_utc(tmp_path: Path, seconds: str, day: str, zone: str) -> None:
    env = {"SOURCE_DATE_EPOCH": seconds, "TZ": zone}
    out = inside("build", "-q", "-f", "json", cwd=fill(tmp_path, {}), env=env).out
    assert json.loads(out)["request"]["date"] == day


def _state(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Every file and folder with mode, times and bytes; reading times aside."""
    state = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        data = path.read_bytes() if path.is_file() else b""
        state[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ctime_ns, data)
    return state


COMMANDS: Mapping[str, Callable[[Path], tuple[str, ...]]] = {
    "build": lambda _: ("build", "--topic", "tide"),
    "build of an exact budget": lambda _: ("build", "--tokenizer", "cl100k_base"),
    "build into a file elsewhere": lambda folder: ("build", "-o", f"{folder}/out.md", "--manifest", f"{folder}/m.json"),
    "failed build": lambda _: ("build", "-t", "nobody"),
    "explain": lambda _: ("explain",),
    "explain of a line": lambda _: ("explain", "--line", "agents/luna/KNOWLEDGE.md:3"),
    "plan": lambda _: ("plan",),
    "config": lambda _: ("config", "--origin"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_reading_leaves_every_byte_and_time_of_the_workspace(tmp_path: Path, name: str) -> None:
    """P11: row 127: nothing is written, made or touched, not even a `.ctxasm` folder."""
    workspace = tmp_path / "w"
    shutil.copytree(SAMPLE, workspace)
    before = _state(workspace)
    words = COMMANDS[name](tmp_path)
    result = inside(words[0], "-a", "luna", *words[1:], cwd=workspace)
    assert result.code == (2 if name == "failed build" else 0), result.err
    assert _state(workspace) == before


def test_read_only_workspace_can_be_built(tmp_path: Path) -> None:
    """P10: folders without the right to write: a checkout, an image."""
    fill(tmp_path / "w", {})
    folders = [tmp_path / "w", *(path for path in (tmp_path / "w").rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert inside("build", "-q", cwd=tmp_path / "w").code == 0
    finally:
        for folder in folders:
            folder.chmod(0o755)
