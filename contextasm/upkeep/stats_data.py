"""Statistics as data for JSON, schema `ctxasm.stats/1` (contextasm/rendering/schemas/stats-1.json)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from contextasm.model import Context, Memory, Problem
from contextasm.upkeep.stats import Contributor, Growth, WorkspaceStats

SCHEMA = "ctxasm.stats/1"


def stats_data(
    stats: WorkspaceStats, context: Context | None, problems: Sequence[Problem], day: date, tokenizer: str, top: int
) -> Mapping[str, object]:
    """The statistics with the layers of a context, None for none; of each list of contributors, `top` at most."""
    redundant = stats.duplicates
    return {
        "schema": SCHEMA,
        "date": str(day),
        "tokenizer": tokenizer,
        "owners": [owner._asdict() for owner in stats.owners],
        "growth": _growth_data(stats.growth),
        "files": [{"path": each.name, "memories": each.memories, "tokens": each.tokens} for each in stats.files[:top]],
        "authors": _contributors_data(stats.authors[:top]),
        "types": _contributors_data(stats.types[:top]),
        "duplicates": {
            "memories": len(redundant),
            "tokens": sum(each.tokens for each in redundant),
            "largest": [
                {
                    "memory": _memory_data(each.memory),
                    "same_as": _memory_data(each.same_as),
                    "similarity": round(each.share, 4),
                    "tokens": each.tokens,
                }
                for each in redundant[:top]
            ],
        },
        "context": _context_data(context) if context else None,
        "problems": [problem._asdict() for problem in problems],
    }


def _growth_data(growth: Growth) -> Mapping[str, object]:
    weeks = [{**week._asdict(), "monday": str(week.monday)} for week in growth.weeks]
    return {"weeks": weeks, "earlier": growth.earlier, "later": growth.later, "undated": growth.undated}


def _contributors_data(contributors: Sequence[Contributor]) -> Sequence[Mapping[str, object]]:
    return [{"name": each.name, "memories": each.memories, "tokens": each.tokens} for each in contributors]


def _memory_data(memory: Memory) -> Mapping[str, object]:
    return {"id": memory.id, "path": memory.path, "line": memory.line}


def _context_data(context: Context) -> Mapping[str, object]:
    return {
        "agent": context.request.agent,
        "team": context.request.team,
        "profile": context.profile,
        "budget": context.request.budget,
        "tokens": context.tokens,
        "layers": [
            {"layer": each.layer, "limit": each.limit, "wanted": each.wanted, "used": each.used}
            for each in context.allowances
        ],
    }
