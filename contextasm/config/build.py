"""A build that is ready to run, and its counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from contextasm.config.settings import Setting
from contextasm.config.yaml_events import load_values
from contextasm.model import Context, IndexedPools, Profile, Request, SemanticSimilarity, Summarizer, Workspace
from contextasm.pipeline import assemble
from contextasm.retrieval.retrieve import RunSources, in_order
from contextasm.selection.tokens import ESTIMATE, Counter, exact_counter
from contextasm.workspace.cache import TokenCountCache, cache_folder, load_token_table
from contextasm.workspace.folder import Folder

if TYPE_CHECKING:
    from contextasm.rules.evaluate import RuleEvaluation
    from contextasm.workspace.git import GitWorkspace


Counters = dict[str, tuple[Counter, TokenCountCache | None]]
"""Counters by the name of their tokenizer, and the counts that each remembers."""


class PreparedBuild(NamedTuple):
    """A build that is ready to run."""

    workspace: Folder | GitWorkspace
    settings: Mapping[str, Setting]
    profile: Profile
    request: Request
    counter: Counter
    counts: TokenCountCache | None
    """The remembered counts of an exact tokenizer."""
    fired: RuleEvaluation | None = None
    """What the workspace's rules come to; None where it has none."""
    summarizer: Summarizer | None = None
    seconds: float | None = None
    """From the start of a build to its deadline."""
    meaning: SemanticSimilarity | None = None
    """The second opinion of searches; None where none is configured, or there is no topic."""
    pools: IndexedPools | None = None
    """Large pools of memories, kept in the workspace."""

    def run(
        self, request: Request | None = None, workspace: Workspace | None = None, *, brief: bool = False
    ) -> Context:
        """The context for the request, or for another one with the same profile and tokenizer.

        `workspace` stands for the job's own one where given. With `brief`, of many memories those not shown are told by
        number, and files whose memories are kept need not be opened.
        """
        context = assemble(
            workspace or self.workspace,
            self.profile,
            request or self.request,
            self.counter,
            meaning=self.meaning,
            fired=self.fired,
            parse=load_values,
            summarizer=self.summarizer,
            run_all=_run_all(self.seconds),
            pools=self.pools if brief else None,
        )
        if self.counts:
            self.counts.save()
        return context


def load_counter(name: str, environment: Mapping[str, str]) -> tuple[Counter, TokenCountCache | None]:
    """The counter of a tokenizer, and the counts that it remembers."""
    if name == ESTIMATE.name:
        return ESTIMATE, None
    counts = TokenCountCache(cache_folder(environment), name)
    return exact_counter(name, lambda: load_token_table(name), counts), counts


def _run_all(seconds: float | None) -> RunSources:
    """What runs the sources: one by one without a deadline, else side by side, which takes threads."""
    if seconds is None:
        return in_order
    from contextasm.retrieval.deadline import run_until_deadline

    return run_until_deadline(seconds)
