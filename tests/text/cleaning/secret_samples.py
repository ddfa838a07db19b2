"""Secrets of every kind, and texts that are none: `cases/secrets`.

No secret stands in a file: the signs of each are drawn, so that no scanner is set off by it.
"""

import json
import random
import re
import string
from base64 import urlsafe_b64encode

from tests.tables import rows

LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"
SIGNS = {
    "": LETTERS,
    "upper": UPPER,
    "hex": HEX,
    "HEX": "0123456789ABCDEF",
    "alpha": string.ascii_letters,
    "digits": string.digits,
    "nonzero": "123456789",
    "base64": LETTERS + "/+",
    "bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}
"""The signs of which a secret is drawn, by their names in the tables."""


def drawn(length: int, signs: str = LETTERS) -> str:
    """Random signs, the same ones in every run."""
    return "".join(random.Random(length).choices(signs, k=length))


def packed(value: object) -> str:
    """A part of a JWT."""
    return urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def jwt(header: object, claims: object) -> str:
    """Three parts, the last one drawn."""
    return f"{packed(header)}.{packed(claims)}.{drawn(43)}"


def pem(words: str, body: str, end: str = "\n") -> str:
    """A private key of some sort."""
    return f"-----{'BEGIN'} {words}{'PRIVATE'} KEY-----{end}{body}"


def filled(text: str) -> str:
    """A text of the tables with its secrets: `<16 hex>` is sixteen signs."""
    token = jwt({"alg": "HS256", "typ": "JWT"}, {"sub": "42", "name": "Ada"})
    return re.sub(r"<(\d+) ?(\w*)>", lambda found: drawn(int(found[1]), SIGNS[found[2]]), text).replace("<jwt>", token)


def parted(kind: str, text: str) -> tuple[str, str, str, str]:
    """Kind, text before, value, and text behind it."""
    before, _, rest = filled(text).partition("«")
    value, _, behind = rest.partition("»")
    return kind, before, value, behind


SHAPES = [(kind, filled(text)) for kind, text in rows("secrets/known")]
IN_CONTEXT = [parted(kind, text) for kind, text in rows("secrets/in-context")]
NEAR_MISSES = [(kind, filled(text)) for kind, text in rows("secrets/near-misses")]
