"""Shapes of secrets that stand in one line: a table of kinds.

A shape is *common* or *wider*. Everything of a common shape is a secret, and a placeholder among them is marked. A
wider shape also fits other texts, so placeholders of it are no secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from contextasm.text.secret_placeholders import (
    always,
    has_random_body,
    is_jwt,
    is_password_of_real_host,
    is_random_value,
    is_real_jwt,
    is_real_value,
    is_stand_in,
)


class SecretSpan(NamedTuple):
    """Place of a secret in a text."""

    start: int
    end: int
    """Offset behind the last character."""
    kind: str
    prefix: str
    """Public beginning of the secret, four characters at most."""
    placeholder: bool


class Shape(NamedTuple):
    """Shape of a kind of secret."""

    kind: str
    anchors: tuple[str, ...]
    """Texts of which one begins every match; without any, the pattern itself is searched for where `clue` is found."""
    pattern: re.Pattern[str]
    """The group `secret` is the secret, else the whole match. No repeat without a bound gives back what it took."""
    is_secret: Callable[[re.Match[str]], bool]
    """Whether a match is a secret at all."""
    is_real: Callable[[re.Match[str]], bool]
    """Whether a secret is no placeholder."""
    wider: bool = False
    """Placeholders are no secrets."""
    folded: bool = False
    """Anchors are in small letters and stand for any case."""
    long: bool = False
    """The secret goes on behind the bound of the pattern, to the end of the word."""
    clue: re.Pattern[str] | None = None
    """A part of every match that begins with one certain character, which is found faster."""


def shape_spans(text: str, folded_text: str, shape: Shape) -> Iterator[SecretSpan]:
    """The secrets of one shape, in the order of each anchor.

    `folded_text` is the text in small letters, of the same length.
    """
    for anchor in shape.anchors:
        prefix = "" if shape.folded else anchor[:4]
        for start, end, match in _anchored_matches(folded_text if shape.folded else text, text, anchor, shape):
            own_prefix = prefix if text.startswith(prefix, start) else ""
            yield SecretSpan(start, end, shape.kind, own_prefix, not shape.is_real(match))
    if shape.clue and shape.clue.search(text):
        for match in shape.pattern.finditer(text):
            yield SecretSpan(*match.span(), shape.kind, "", not shape.is_real(match))


def _anchored_matches(searched: str, text: str, anchor: str, shape: Shape) -> Iterator[tuple[int, int, re.Match[str]]]:
    """Start, end and match of each secret.

    The search goes on behind it, so that a repeat without a bound reads each character once. What is no secret may
    hide one, and its pattern has bounds: there the search goes on behind the anchor.
    """
    group = "secret" if "secret" in shape.pattern.groupindex else 0
    at = searched.find(anchor)
    while at >= 0:
        following = at + len(anchor)
        match = shape.pattern.match(text, at)
        if match and shape.is_secret(match):
            end = _RUN.match(text, match.end(group)).end() if shape.long else match.end(group)  # type: ignore[union-attr]
            if not shape.wider or shape.is_real(match):
                yield match.start(group), end, match
            following = max(following, match.end(), end)
        at = searched.find(anchor, following)


_RUN = re.compile(r"[A-Za-z0-9+/_.~=-]*+")

# --- The table -------------------------------------------------------------------------------------------------------

_EDGE = r"(?:(?<!\w)|(?<=\\[nrt]))"
"""The start of a word; also after `\\n` as JSON writes a line break, since sessions are JSON."""


def _common(kind: str, anchors: str, pattern: str, clue: str = "") -> Shape:
    def is_real(match: re.Match[str]) -> bool:
        prefix = next((anchor for anchor in anchors.split() if match[0].startswith(anchor)), "")
        return not is_stand_in(match[0][len(prefix) :])

    compiled_clue = re.compile(clue, re.ASCII) if clue else None
    whole_pattern = re.compile(rf"{_EDGE}(?:{pattern})", re.ASCII)
    return Shape(kind, tuple(anchors.split()), whole_pattern, always, is_real, clue=compiled_clue)


def _wider(kind: str, anchors: str, body: str) -> Shape:
    either = "|".join(re.escape(anchor) for anchor in anchors.split())
    pattern = rf"{_EDGE}(?:{either})(?P<body>{body})"
    return Shape(kind, tuple(anchors.split()), re.compile(pattern, re.ASCII), always, has_random_body, wider=True)


_UNDERSCORE = (
    _common("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,}+(?!\w)"),
    _wider("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\w{36,}+"),
    _common("github-token", "github_pat_", r"github_pat_\w{60,}+"),
    _wider("github-token", "github_pat_", r"\w{36,}+"),
    _common("stripe-key", "sk_ rk_", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}+"),
    _common("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z]{34}(?!\w)"),
    _wider("huggingface-token", "hf_", r"[A-Za-z0-9]{34,}+"),
    _common("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?!\w)"),
    _common("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64}(?!\w)"),
    _common("docker-token", "dckr_", r"dckr_(?:pat|oat)_[\w-]{27,}+"),
    _common("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}(?!\w)"),
    _common("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}(?!\w)"),
    _common("notion-token", "ntn_", r"ntn_\d{11}[A-Za-z0-9]{35}(?!\w)"),
    _common("grafana-token", "glsa_", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}(?!\w)"),
)

# In order of preference: an Anthropic key also begins as an OpenAI key does.
_HYPHEN = (
    _common(
        "gitlab-token",
        "glpat- glptt- gldt- glrt- glcbt- glagent- gloas- glft- glimt- glsoat-",
        r"gl(?:pat|ptt|dt|rt|cbt|agent|oas|ft|imt|soat)-[\w-]{20,}+",
    ),
    _common("slack-token", "xox", r"xox[abeoprs](?:\.xox[bp])?-[\w-]{10,}+"),
    _wider("slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9.-]{10,}+"),
    _common("anthropic-key", "sk-ant-", r"sk-ant-[a-z]{3,8}\d{2}-[\w-]{80,}+"),
    _wider("anthropic-key", "sk-ant-", r"[\w-]{20,}+"),
    _common("openai-key", "sk-", r"sk-(?:proj-|svcacct-|admin-|None-)?[\w-]{20,100}T3BlbkFJ[\w-]{20,}+"),
    _wider("openai-key", "sk-proj- sk-svcacct- sk-admin-", r"[\w-]{20,}+"),
    _wider("openai-key", "sk-", r"[A-Za-z0-9]{32,}+"),
    _common("google-oauth-secret", "GOCSPX-", r"GOCSPX-[\w-]{28}(?![\w-])"),
    _common("pypi-token", "pypi-AgE", r"pypi-AgE[\w-]{50,}+"),
    _common("mailgun-key", "key-", r"key-[0-9a-f]{32}(?!\w)"),
    _common("mailchimp-key", "", r"[0-9a-f]{32}-us\d{1,2}(?!\w)", r"-us\d"),
    _common("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}(?!\w)"),
)

_DOT = (
    _common("sendgrid-key", "SG.", r"SG\.[\w-]{20,24}+\.[\w-]{39,}+"),
    _common("discord-token", "", r"[MNO][A-Za-z\d_-]{23,27}+\.[\w-]{6}\.[\w-]{27,}+", r"\.[\w-]{6}\.[\w-]{27}"),
    _common("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{80,}+"),
    Shape(
        "jwt",
        ("eyJ",),
        re.compile(
            rf"{_EDGE}(?P<head>eyJ[\w-]{{15,2000}}+)\.(?P<claims>eyJ[\w-]{{15,4000}}+)\.[\w-]{{20,}}+", re.ASCII
        ),
        is_jwt,
        is_real_jwt,
    ),
    Shape(
        "jwt",
        ("eyJ",),
        # No hyphen before it: a long run of them would be read anew from each place on.
        re.compile(rf"(?<!-){_EDGE}(?P<head>eyJ[\w-]{{10,}}+)\.(?P<claims>[\w-]{{4,}}+)\.[\w-]{{10,}}+", re.ASCII),
        always,
        is_real_jwt,
        wider=True,
    ),
)

_CAPITALS = (
    _common("aws-access-key-id", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?!\w)"),
    _wider("aws-access-key-id", "AKIA ASIA", r"[A-Z0-9]{16}(?!\w)"),
    _common("google-api-key", "AIza", r"AIza[\w-]{35}(?![\w-])"),
)

_TWILIO = (_common("twilio-key", "SK", r"SK[0-9a-f]{32}(?!\w)"),)
_DATABRICKS = (_common("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?(?!\w)"),)
_SLACK_WEBHOOK = (
    Shape(
        "slack-webhook",
        ("https://hooks.slack.com/",),
        re.compile(r"https://hooks\.slack\.com/(?:services|workflows|triggers)/(?P<body>[A-Za-z0-9_/+-]{20,}+)"),
        always,
        has_random_body,
    ),
    _wider("slack-webhook", "hooks.slack.com/services/", r"T\w{8,}+/B\w{8,}+/\w{20,}+"),
)

_AWS_SECRET = (
    Shape(
        "aws-secret-key",
        ("aws",),
        re.compile(
            r"(?i:aws.{0,20}(?:secret|key).{0,12})['\"=:\s](?P<secret>(?P<body>[A-Za-z0-9/+]{40}))(?![A-Za-z0-9/+=])"
        ),
        always,
        has_random_body,
        folded=True,
    ),
)

_KEY_NAMES = ("api_key", "apikey", "access_key", "accesskey")

_ASSIGNED = (
    Shape(
        "azure-storage-key",
        ("AccountKey=",),
        re.compile(r"AccountKey=(?P<secret>(?P<body>[A-Za-z0-9+/]{86}==))"),
        always,
        has_random_body,
    ),
    _common("telegram-token", "", r"[0-9]{8,10}:AA[\w-]{33}(?![\w-])", r":AA[\w-]{33}"),
    Shape(
        "authorization-header",
        ("authorization",),
        re.compile(
            r"(?i:authorization['\"]?\s{0,3}[:=]\s{0,3}['\"]?(?:bearer|token|basic)\s{1,3})"
            r"(?P<secret>(?P<body>[A-Za-z0-9_.~+/=-]{20,}+))"
        ),
        always,
        has_random_body,
        folded=True,
    ),
    Shape(
        "assigned-secret",
        ("secret", "token", "password", "passwd", "passphrase", "credential", *_KEY_NAMES),
        re.compile(
            r"(?i:secret|token|passw(?:or)?d|passphrase|api_?key|access_?key|credential)[\w.-]{0,20}+['\"]?\s{0,3}"
            r"(?::=|=>|=|:)\s{0,3}['\"]?(?P<secret>[A-Za-z0-9+/_.~=-]{16,256}+)(?P<call>\(?)"
        ),
        is_random_value,
        is_real_value,
        folded=True,
        long=True,
    ),
)

_URL = (
    Shape(
        "url-password",
        ("://",),
        re.compile(
            r"://[^\s:/@'\"<>]{0,64}+:(?P<secret>[^\s:/@'\"<>$]{3,128}+)@(?=[\w.-])(?P<host>[\w.${%-]++)",
        ),
        always,
        is_password_of_real_host,
    ),
    Shape(
        "url-password",
        ("://",),
        re.compile(
            r"(?<=[A-Za-z0-9])://[^\s:@/\"'<>`]*+:(?P<secret>[^\s@/\"'<>`]++)@"
            r"(?P<host>\[[0-9A-Fa-f:.]*+\]|[\w.${%-]++)",
        ),
        always,
        is_password_of_real_host,
        wider=True,
    ),
)

_VALUE = r"\s{0,3}['\"]?(?:(?i:bearer|token|basic)\s{1,3})?[A-Za-z0-9+/_.~=-]{16}"

_small_w = re.compile(r"w(?<=[aA]w)[sS].{0,20}(?i:secret|key)").search
_capital_w = re.compile(r"W(?<=[aA]W)[sS].{0,20}(?i:secret|key)").search
_colon = re.compile(rf":(?<![^\w.-]http:)(?<![^\w.-]https:){_VALUE}").search
_equals_sign = re.compile(f"=>?{_VALUE}").search

FAMILIES: tuple[tuple[Callable[[str], object], tuple[Shape, ...]], ...] = (
    (re.compile(r"_[\w-]{10}").search, _UNDERSCORE),
    (re.compile(r"-(?!-{10})(?:[\w.-]{10}|us[0-9])").search, _HYPHEN),
    (re.compile(r"\.[\w-]{10}").search, _DOT),
    (re.compile(r"A(?:[KSB]IA|CCA|Iza)").search, _CAPITALS),
    (re.compile(r"SK[0-9a-f]{32}").search, _TWILIO),
    (lambda text: "dapi" in text, _DATABRICKS),
    (lambda text: "slack.com/" in text, _SLACK_WEBHOOK),
    (lambda text: _small_w(text) or _capital_w(text), _AWS_SECRET),
    (lambda text: _colon(text) or _equals_sign(text), _ASSIGNED),
    (lambda text: "@" in text and "://" in text, _URL),
)
"""Shapes, in order of preference, behind a test that every text with one of them passes.

Most files have no secret. A search for one literal character, with a long word behind it, costs a tenth of a search
for each anchor.
"""
