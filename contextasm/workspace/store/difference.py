"""Questions of a pull to the server: the state of the store, and the pages of a home that changed since an earlier one.

All in one transaction that sees one state of the database. Pages are named by their role and their own name.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import Memory
from contextasm.workspace.store.connection import Session
from contextasm.workspace.store.pages import (
    COLUMNS,
    as_shown,
    memory_of_row,
    page_name,
    page_text,
    superseded_ids,
)
from contextasm.workspace.store.rows import IN_HOME, own_private_ids

_BATCH_BYTES = 2_000_000
"""Bytes of text that one statement asks for, unless a page has more: over a slow line, too, it ends in time
(`connection._LIMITS`), and no store has to fit into memory."""

_BATCH_PAGES = 256
"""Pages that one statement asks for, at most."""

_PAGES = f"SELECT DISTINCT role::text, page FROM ctxasm.memory WHERE {IN_HOME}"


class StoreState(NamedTuple):
    """The state of the database that a transaction sees."""

    source: str
    """Database, history of its server and role: the numbers of transactions mean something within these alone."""
    horizon: int
    """The oldest transaction that was still running: every change before it is seen."""
    rights: Mapping[str, bool]
    """The homes that the role may read, and whether it may write there."""


def store_state(session: Session) -> StoreState:
    """The state that a session sees."""
    ((system, timeline, database, role, horizon),) = session.rows(
        "SELECT system_identifier, timeline_id, oid, current_user, pg_snapshot_xmin(pg_current_snapshot())::text"
        " FROM pg_control_system(), pg_control_checkpoint(), pg_database WHERE datname = current_database()"
    )
    rights = dict(session.rows("SELECT home, writes FROM ctxasm.member WHERE role = current_user"))
    return StoreState(f"{system}/{timeline}/{database} {role}", int(horizon), rights)


def all_pages(session: Session, home: str) -> Collection[tuple[str, str]]:
    """Role and page of every page of a home."""
    return {(role, page) for role, page in session.rows(_PAGES, home)}


def changed_pages(
    session: Session, home: str, horizon: int, intact: Container[str] | None = None
) -> Collection[tuple[str, str]]:
    """Role and page of each page that may have changed since a horizon.

    With `intact`, also of each page whose file is not in it.
    """
    own_secrets = "array_agg(id) FILTER (WHERE private AND role = current_user)"
    statement = (
        f"SELECT role::text, page, {own_secrets} FROM ctxasm.memory"
        f" WHERE {IN_HOME} AND changed >= %s::text::xid8 GROUP BY role, page"
    )
    since = session.rows(statement, home, str(horizon))
    pages = {(role, page) for role, page, _ in since}
    # Pages of others show nothing of an id that is the reader's own secret by now (`page_texts`).
    if secrets := [name for _, _, names in since for name in names or ()]:
        roots = "SELECT regexp_replace(name, '(~[0-9]+)+$', '') FROM unnest({}) AS names(name)"
        guessed = f"ARRAY({roots.format('supersedes')}) && ARRAY({roots.format('%s::text[]')})"
        others = f"{_PAGES} AND role <> current_user AND supersedes <> '{{}}' AND {guessed}"
        guesses = session.rows(others, home, secrets)
        pages |= {(role, page) for role, page in guesses}
    if intact is not None:
        pages |= {(role, page) for role, page in all_pages(session, home) if page_name(page, role) not in intact}
    return pages


def in_batches(session: Session, home: str, pages: Sequence[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    """The pages in their order, in batches of up to `_BATCH_BYTES` of text and `_BATCH_PAGES`, of one page at least."""
    sizes = _page_sizes(session, home, pages) if len(pages) > 1 else {}
    batch: list[tuple[str, str]] = []
    size = 0
    for page in pages:
        size += sizes.get(page, 0)
        if batch and (size > _BATCH_BYTES or len(batch) == _BATCH_PAGES):
            yield batch
            batch, size = [], sizes.get(page, 0)
        batch.append(page)
    if batch:
        yield batch


def _page_sizes(session: Session, home: str, pages: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
    """Bytes of the texts of pages; a page without any is missing."""
    statement = (
        f"SELECT role::text, page, sum(octet_length(text)) FROM ctxasm.memory WHERE {IN_HOME} AND NOT deleted"
        " AND (role, page) IN (SELECT * FROM unnest(%s::name[], %s::text[])) GROUP BY role, page"
    )
    rows = session.rows(statement, home, [role for role, _ in pages], [page for _, page in pages])
    return {(role, page): int(size) for role, page, size in rows}


def page_texts(session: Session, home: str, pages: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
    """The texts of pages by role and page. No memory of another role supersedes a private one, whose id it guessed."""
    statement = (
        f"SELECT role = current_user, role::text, page, {COLUMNS} FROM ctxasm.memory"
        f" WHERE {IN_HOME} AND (role, page) IN %s AND NOT deleted ORDER BY seq"
    )
    rows = [
        (own, (role, page), memory_of_row(row)) for own, role, page, *row in session.rows(statement, home, tuple(pages))
    ]
    private = own_private_ids(session, home, superseded_ids(memory for own, _, memory in rows if not own))
    memories: dict[tuple[str, str], list[Memory]] = {}
    for own, page, memory in rows:
        memories.setdefault(page, []).append(memory if own else as_shown(memory, private))
    return {page: page_text(of_page) for page, of_page in memories.items()}
