"""Progress of an index that is made or updated."""


class IndexingSteps:
    """Progress of an index that is made or updated, two steps a file; another thread may read the share at any time."""

    def __init__(self) -> None:
        """No file is indexed yet."""
        self._all = 0
        self._done = 0

    @property
    def share(self) -> float | None:
        """The share of the steps that are done, 0 to 1; None if no file is indexed."""
        steps = self._all
        return min(self._done / steps, 1.0) if steps else None

    def begin(self, files: int) -> None:
        """So many files are to be indexed; 0 for none."""
        self._all = 2 * files
        self._done = 0

    def step(self) -> None:
        """A file was read, or was written."""
        self._done += 1
