"""The stemmer of English words."""

from tests.command import python


def test_stems_are_those_of_the_package() -> None:
    """Which is loaded as ever afterwards, other languages included."""
    code = (
        "from contextasm.retrieval.search.stemmer import english_stemmer; stem = english_stemmer();"
        "words = 'decides deciding releases skies happily generously relational hoping'.split();"
        "ours = [stem(word) for word in words]; from snowballstemmer import stemmer;"
        "print(ours == stemmer('english').stemWords(words), ours[:3], stemmer('german').stemWord('häuser'))"
    )
    assert python(code).out == "True ['decid', 'decid', 'releas'] haus\n"


def test_package_of_another_layout_is_used_as_a_whole() -> None:
    """A later version may hold its modules elsewhere."""
    code = (
        "import sys; sys.modules['_snowballstemmer_without_languages.english_stemmer'] = None;"
        "from contextasm.retrieval.search.stemmer import english_stemmer;"
        "print(english_stemmer()('decides'), 'snowballstemmer' in sys.modules)"
    )
    assert python(code).out == "decid True\n"
