"""A build: everything that one context is made of."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from contextasm.model.document import Parse, Workspace
from contextasm.model.fragment import RetrievalResult
from contextasm.model.profile import Layer
from contextasm.model.protocols import IndexedPools, SemanticSimilarity
from contextasm.model.request import Request


class SourceQuery(NamedTuple):
    """What a source is asked, and what it may lean on."""

    workspace: Workspace
    layer: Layer
    request: Request
    meaning: SemanticSimilarity | None = None
    """None where none is configured."""
    found: Mapping[str, RetrievalResult] = MappingProxyType({})
    """What the layers found that this one starts from, by id."""
    parse: Parse | None = None
    """Reads YAML; None where no layer needs it."""
    pools: IndexedPools | None = None
    """None where every memory is to be told of by itself; else, of many, those not shown are told by number."""
