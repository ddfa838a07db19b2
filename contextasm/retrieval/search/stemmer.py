"""Stemmer of English words, from the package snowballstemmer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

_PACKAGE = "_snowballstemmer_without_languages"
"""Name of an empty package in the folder of snowballstemmer."""


@lru_cache(maxsize=1)
def english_stemmer() -> Callable[[str], str]:
    """Gives the stem of a folded word; by PyStemmer where that is installed."""
    stem = None if find_spec("Stemmer") else _stem_of_one_module()
    if stem is None:
        from snowballstemmer import stemmer

        stem = stemmer("english").stemWord
    return stem


def _stem_of_one_module() -> Callable[[str], str] | None:
    """The stemmer by the one module that holds it; None where a version of the package has no such module.

    The package itself imports thirty languages, which takes longer than a search. A package of another name that holds
    nothing but its folder imports what is asked for.
    """
    spec = find_spec("snowballstemmer")
    if spec is None or spec.submodule_search_locations is None:
        return None
    package = ModuleType(_PACKAGE)
    package.__path__ = [*spec.submodule_search_locations]
    sys.modules[_PACKAGE] = package
    try:
        stem: Callable[[str], str] = import_module(f"{_PACKAGE}.english_stemmer").EnglishStemmer().stemWord
    except (ImportError, AttributeError):
        return None
    return stem
