"""What every test runs under: a home folder of its own, fixed seeds, and as many processes as the machine has cores."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

from contextasm.selection import tokens
from tests import command

if TYPE_CHECKING:
    from tests.postgres import Database, Server

MEMORY_DISK = "/dev/shm"  # noqa: S108 - pytest makes a folder of its own in it, with a mode of its own
"""Where the files of tests are made if they fit: every write waits for a real disk, and the tests make 80,000 files."""

LONGEST_TEST = 300.0
"""Seconds after which a test counts as hanging, on a busy machine too."""


def is_roomy_memory(folder: str) -> bool:
    """Whether a folder has a gigabyte free for files, of which some are programs."""
    if not os.access(folder, os.W_OK):
        return False
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize > 1 << 30 and not disk.f_flag & os.ST_NOEXEC


# Number of examples of each law. All profiles draw the same ones every time, as far as they go.
for profile, examples in {"quick": 25, "ci": 500, "full": 2000}.items():
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize=True,
        # A whole workspace is drawn for each example, and two cores of a busy machine are no measure.
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
settings.load_profile("quick")

if is_roomy_memory(MEMORY_DISK):
    os.environ.setdefault("TMPDIR", MEMORY_DISK)
    tempfile.tempdir = None

# Until all tests are collected, next to nothing is garbage.
gc.disable()

# `contextasm.build` in this process makes each context anew, so that a test of it tests it.
os.environ["CTXASM_NO_REPLAY"] = "1"

# A job in the background of a script ignores SIGINT, and so would every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Number of processes: none but this one where single files or tests are named, else one a core."""
    return None if all(os.path.isdir(argument) for argument in config.args) else 0


def pytest_collection_finish() -> None:
    """What stays to the end, above all the tests, is not looked through for garbage again and again."""
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """No test waits for ever; a law takes what its examples take."""
    with nullcontext() if item.get_closest_marker("hypothesis") else command.time_limit(LONGEST_TEST):
        yield


@pytest.fixture(scope="session", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Home folder of every command that the tests run; pytest removes it."""
    command.HOME = str(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session", autouse=True)
def _encoders() -> Iterator[None]:
    """Each token table becomes an encoder once and not in each build: that takes a third of a second."""
    with patch.object(tokens, "_encoder", cache(tokens._encoder)):
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server; a test that asks for it is marked `postgres`."""
    from tests.postgres import running_server

    with running_server() as running:
        yield running


@pytest.fixture
def database(server: Server) -> Database:
    """A new database with a store (`tests/postgres.py`)."""
    from tests.postgres import new_database

    return new_database(server)
