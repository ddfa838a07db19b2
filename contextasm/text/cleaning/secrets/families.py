"""The table of secrets that stand in one line: families of shapes, each behind a test of what all of them have."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial

from contextasm.text.cleaning.secrets.shapes import (
    EDGE,
    ESCAPE,
    TAIL,
    WORD_EDGE,
    Shape,
    always,
    common,
    has,
    has_random_body,
    is_jwt,
    is_password_of_real_host,
    is_random_value,
    is_real_jwt,
    is_real_value,
    wider,
)

_NAME = (
    r"(?i:(?P<strong>secret|token|passw(?:or)?d|passphrase|api_?key|access_?key|credential)"
    r"|(?:api|access|private)[-_ ]?key|(?<![a-z])(?:pwd|pass)(?![a-z]))"
)
"""A name of a secret. Those that are no `strong` one stand before other things, too."""

_ANCHORS = (
    *("secret", "token", "pass", "pwd", "credential"),
    *(f"{word}{between}key" for word in ("api", "access", "private") for between in ("", "_", "-", " ")),
)

_BEHIND_NAME = r"[\\'\"`*_\]]{0,6}"
_BEFORE_VALUE = r"[*`]{0,2}\s{0,3}[\\'\"`*]{0,5}"
_SIGN = (
    rf"{_BEHIND_NAME}\s{{0,3}}(?::=|=>|=|:|\uff1a){_BEFORE_VALUE}"
    r"|(?P<other>>(?=[^\s<>]{16,256}</)|['\"],\s{0,3}['\"]"
    r"|['\"]?[ \t]{0,3}\r?\n[ \t]{0,20}['\"]?value['\"]?:[ \t]{0,3}['\"]?)"
)
"""What stands between name and value; other than an assignment: a tag, a default value, a variable of a container."""

_LETTERS = r"(?P<secret>(?:[A-Za-z0-9+/_.~=-]|\\[\"'](?=[A-Za-z0-9+/_.~=-])){16,256}+)"


@cache
def assigned_shapes() -> tuple[Shape, ...]:
    """Values behind a sign that assigns them to a name."""
    return (
        Shape(
            "azure-storage-key",
            ("AccountKey=",),
            re.compile(r"AccountKey=(?P<secret>(?P<body>[A-Za-z0-9+/]{86}==))"),
            always,
            has_random_body,
        ),
        common("telegram-token", "", r"[0-9]{8,10}:AA[\w-]{33}" + TAIL, r":AA[\w-]{33}", rf"(?:(?<![0-9])|{ESCAPE})"),
        Shape(
            "authorization-header",
            ("authorization",),
            re.compile(
                r"(?i:authorization[\\'\"]{0,4}\]?\s{0,3}[:=,]\s{0,3}[\\'\"]{0,4}(?:bearer|token|basic|api-?key)\s{1,3})"
                r"(?P<secret>(?P<body>[A-Za-z0-9_.~+/=-]{20,}+))"
            ),
            always,
            has_random_body,
            folded=True,
        ),
        Shape(
            "assigned-secret",
            _ANCHORS,
            re.compile(rf"{_NAME}(?P<rest>[\w.-]{{0,20}}+)(?:{_SIGN}){_LETTERS}(?P<call>\(?)"),
            is_random_value,
            is_real_value,
            folded=True,
            long=True,
        ),
    )


@cache
def argument_shapes() -> tuple[Shape, ...]:
    """Values behind an option or word of a command, set apart by a blank."""
    return (
        _argument(
            ("--",),
            r"--(?:[a-z0-9]{1,20}-){0,3}(?:secret|token|password|passwd|passphrase|pass|pwd|key)[ \t]{1,3}['\"]?",
        ),
        _argument(("login ",), r"login[ \t]+\S{1,80}+\s{1,8}password[ \t]{1,3}"),
        _argument(("-u", "--user"), r"-(?:u|-user)[ =]{0,2}['\"]?[\w.@-]{1,64}+:"),
    )


def _argument(anchors: tuple[str, ...], pattern: str) -> Shape:
    whole_pattern = re.compile(rf"{pattern}{_LETTERS}(?P<call>\(?)")
    return Shape("assigned-secret", anchors, whole_pattern, is_random_value, is_real_value, long=True)


# --- Tests -----------------------------------------------------------------------------------------------------------

_LONG = r"[A-Za-z0-9+/_.~=\\\"'-]{16}"
_TOKEN = rf"(?i:bearer|token|basic|api-?key)\s{{1,3}}{_LONG}"
_WORD = rf"(?:{_LONG}|{_TOKEN})"
_VALUE = rf"[*`]{{0,2}}+\s{{0,3}}+(?=\S{{5}})[\\'\"`*]{{0,5}}{_WORD}"
"""`_BEFORE_VALUE` and a long word. No word begins with what its first two parts take, so they give nothing back."""
_COLON = rf":(?<![^\w.-]http:)(?<![^\w.-]https:){_VALUE}"
_EQUALS_SIGN = f"=>?{_VALUE}"
_COMMA = rf",(?:(?<=['\"],)\s{{0,3}}['\"]{_LONG}|\s{{0,3}}[\\'\"]{{0,4}}{_TOKEN})"
_TAG = r">[^\s<>]{16,256}</"
_ARGUMENT = r"-(?:(?<=--)(?:[a-z0-9-]{0,60}?(?:secret|token|pass[a-z]{0,6}|pwd|key)[ \t]|user[ =])|u(?<=\s-u))"


def has_assignment(text: str) -> bool:
    """Whether a text may hold an assigned secret."""
    return (
        has(":", _COLON, text)
        or has("=", _EQUALS_SIGN, text)
        or has("\uff1a", rf"\uff1a{_VALUE}", text)
        or has(">", _TAG, text)
        or has(",", _COMMA, text)
    )


def has_argument(text: str) -> bool:
    """Whether a text may hold a secret as an argument of a command."""
    return has("-", _ARGUMENT, text) or ("password" in text and "login " in text)


# Each family is made on first need: few texts hold anything like a secret, and to compile all patterns takes 6 ms.


@cache
def _underscore_shapes() -> tuple[Shape, ...]:
    return (
        common("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,}+"),
        wider("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\w{36,}+"),
        common("github-token", "github_pat_", r"github_pat_\w{60,}+"),
        wider("github-token", "github_pat_", r"\w{36,}+"),
        common("stripe-key", "sk_ rk_", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}+"),
        common("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z]{34}" + TAIL),
        wider("huggingface-token", "hf_", r"[A-Za-z0-9]{34,}+"),
        common("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}" + TAIL),
        common("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64}" + TAIL),
        common("docker-token", "dckr_", r"dckr_(?:pat|oat)_[\w-]{27,}+"),
        common("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}" + TAIL),
        common("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}" + TAIL),
        common("notion-token", "ntn_", r"ntn_\d{11}[A-Za-z0-9]{35}" + TAIL),
        common("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}+={0,2}"),
        common("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}+"),
        common("grafana-token", "glsa_", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}" + TAIL),
    )


@cache
def _hyphen_shapes() -> tuple[Shape, ...]:
    # In order of preference: an Anthropic key also begins as an OpenAI key does.
    return (
        common(
            "gitlab-token",
            "glpat- glptt- gldt- glrt- glcbt- glagent- gloas- glft- glimt- glsoat-",
            r"gl(?:pat|ptt|dt|rt|cbt|agent|oas|ft|imt|soat)-[\w-]{20,}+",
        ),
        common("slack-token", "xox", r"xox[abeoprs](?:\.xox[bp])?-[\w-]{10,}+"),
        wider("slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9.-]{10,}+"),
        common("anthropic-key", "sk-ant-", r"sk-ant-[a-z]{3,8}\d{2}-[\w-]{80,}+"),
        wider("anthropic-key", "sk-ant-", r"[\w-]{20,}+"),
        common("openai-key", "sk-", r"sk-(?:proj-|svcacct-|admin-|None-)?[\w-]{20,100}T3BlbkFJ[\w-]{20,}+"),
        wider("openai-key", "sk-proj- sk-svcacct- sk-admin-", r"[\w-]{20,}+"),
        wider("openai-key", "sk-", r"[A-Za-z0-9]{32,}+"),
        common("google-oauth-secret", "GOCSPX-", r"GOCSPX-[\w-]{28}" + TAIL),
        common("pypi-token", "pypi-AgE", r"pypi-AgE[\w-]{50,}+"),
        common("mailgun-key", "key-", r"key-[0-9a-f]{32}" + TAIL, edge=WORD_EDGE),
        common("mailchimp-key", "", r"[0-9a-f]{32}-us\d{1,2}" + TAIL, r"-us\d", WORD_EDGE),
        common("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}" + TAIL),
    )


@cache
def _dot_shapes() -> tuple[Shape, ...]:
    return (
        common("sendgrid-key", "SG.", r"SG\.[\w-]{20,24}+\.[\w-]{39,}+"),
        common(
            "discord-token",
            "",
            r"[MNO][A-Za-z\d_-]{23,27}+\.[\w-]{6}\.[\w-]{27,}+",
            r"\.[\w-]{6}\.[\w-]{27}",
            WORD_EDGE,
        ),
        common("google-oauth-token", "ya29.", r"ya29\.[\w-]{30,}+"),
        wider("slack-token", "xoxe.", r"[A-Za-z0-9.-]{10,}+"),
        common("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{80,}+"),
        Shape(
            "jwt",
            ("eyJ",),
            re.compile(
                rf"{EDGE}(?P<head>eyJ[\w-]{{15,2000}}+)\.(?P<claims>eyJ[\w-]{{15,4000}}+)\.[\w-]{{20,}}+", re.ASCII
            ),
            is_jwt,
            is_real_jwt,
        ),
        Shape(
            "jwt",
            ("eyJ",),
            # No hyphen before it: a long run of them would be read anew from each place on.
            re.compile(
                rf"(?<!-){WORD_EDGE}(?P<head>eyJ[\w-]{{10,}}+)\.(?P<claims>[\w-]{{4,}}+)\.[\w-]{{10,}}+", re.ASCII
            ),
            always,
            is_real_jwt,
            wider=True,
        ),
    )


@cache
def _capitals_shapes() -> tuple[Shape, ...]:
    return (
        common("aws-access-key-id", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}" + TAIL),
        wider("aws-access-key-id", "AKIA ASIA", r"[A-Z0-9]{16}" + TAIL),
        common("atlassian-token", "ATATT3x", r"ATATT3x[\w-]{60,}+(?:=[0-9A-F]{8})?"),
        common("google-api-key", "AIza", r"AIza[\w-]{35}" + TAIL),
    )


@cache
def _twilio_shapes() -> tuple[Shape, ...]:
    return (common("twilio-key", "SK", r"SK[0-9a-f]{32}" + TAIL, edge=WORD_EDGE),)


@cache
def _databricks_shapes() -> tuple[Shape, ...]:
    return (common("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?" + TAIL, edge=WORD_EDGE),)


@cache
def _webhook_shapes() -> tuple[Shape, ...]:
    return (
        Shape(
            "slack-webhook",
            ("https://hooks.slack.com/",),
            re.compile(r"https://hooks\.slack\.com/(?:services|workflows|triggers)/(?P<body>[A-Za-z0-9_/+-]{20,}+)"),
            always,
            has_random_body,
        ),
        Shape(
            "discord-webhook",
            ("https://discord.com/api/webhooks/", "https://discordapp.com/api/webhooks/"),
            re.compile(r"https://discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/(?P<body>[\w-]{50,}+)", re.ASCII),
            always,
            has_random_body,
        ),
        wider("slack-webhook", "hooks.slack.com/services/", r"T\w{8,}+/B\w{8,}+/\w{20,}+"),
    )


@cache
def _aws_secret_shapes() -> tuple[Shape, ...]:
    return (
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


@cache
def _signature_shapes() -> tuple[Shape, ...]:
    return (
        Shape(
            "azure-signature",
            ("sig=",),
            re.compile(r"sig=(?<=[?&;\"'\s]sig=)(?P<secret>(?P<body>(?:[A-Za-z0-9]|%2[BFbf]){43,100}+%3[Dd]))"),
            always,
            has_random_body,
        ),
    )


@cache
def _url_shapes() -> tuple[Shape, ...]:
    return (
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


# --- Tests -----------------------------------------------------------------------------------------------------------

# The characters right before the mark come first: few words end in them, and whole prefixes take longer to try.
_BEHIND_UNDERSCORE = (
    r"_(?<=[acfgikmnoprstu]_)(?=[\w+/-]{15})"
    r"(?:(?<=gh[pousr]_)|(?<=[sr]k_|hf_)|(?<=npm_|ntn_|gsk_)|(?<=do[opr]_)|(?<=dckr_|glsa_)|(?<=whsec_)"
    r"|(?<=shp[acps][ats]_)|(?<=github_pat_)|(?<=lin_api_|api_org_))"
)
_BEHIND_HYPHEN = (
    r"-(?:us[0-9]|(?<=(?:x[abcdeoprs]|pp|sk|ey|[abdfmnrt]t|as|GE|pi|PX)-)(?=[\w.-]{10})"
    r"(?:(?<=gl[pcio][tbma][ts]-)|(?<=gl[drf]t-)|(?<=glsoat-)|(?<=glagent-)|(?<=xox[abcdeoprs]-|xapp-)"
    r"|(?<=sk-)|(?<=key-|AGE-)|(?<=pypi-)|(?<=GOCSPX-)))"
)
_BEHIND_DOT = r"\.(?:(?<=SG\.)|(?<=ya29\.)|(?<=hv[sbr]\.)|(?<=xoxe\.)|[\w-]{6}\.[\w-]{27})"

_SMALL_AWS = r"w(?<=[aA]w)[sS].{0,20}(?i:secret|key)"
_CAPITAL_AWS = r"W(?<=[aA]W)[sS].{0,20}(?i:secret|key)"


def _has_dot_token(text: str) -> bool:
    return has(".", r"\.[A-Za-z0-9_.-]{10}", text) and ("eyJ" in text or has(".", _BEHIND_DOT, text))


def _has_aws_secret(text: str) -> bool:
    return has("w", _SMALL_AWS, text) or has("W", _CAPITAL_AWS, text)


_LONG_WORD = b"x" * 15
"""The word of the shortest secret of these families, translated: `xoxb-` and ten characters."""

_WORD_CHARACTERS = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_.~=-"
    b"\\\"'%"  # escapes within a secret
)
_WORDS = bytes(ord("x") if byte in _WORD_CHARACTERS else ord(" ") for byte in range(256))


def _may_hold_long_word(text: str) -> bool:
    # To translate bytes and find a long run takes a tenth of the tests below. Nearly every address is a long word.
    if "/" in text and "://" in text:
        return True
    return _LONG_WORD in text.encode("utf-8", "surrogatepass").translate(_WORDS)


Family = tuple[Callable[[str], bool], Callable[[], tuple[Shape, ...]]]
"""Shapes, behind a test that every text with one of them passes."""

LONG_FAMILIES: tuple[Family, ...] = (
    (partial(has, "_", _BEHIND_UNDERSCORE), _underscore_shapes),
    (partial(has, "-", _BEHIND_HYPHEN), _hyphen_shapes),
    (_has_dot_token, _dot_shapes),
    (partial(has, "A", r"A(?:[KSB]IA|CCA|Iza|TATT3x)"), _capitals_shapes),
    (partial(has, "K", r"SK[0-9a-f]{32}"), _twilio_shapes),
    (partial(has, "d", r"dapi[0-9a-f]{32}"), _databricks_shapes),
    (lambda text: "/" in text and ("slack.com/" in text or "/api/webhooks/" in text), _webhook_shapes),
    (_has_aws_secret, _aws_secret_shapes),
    (has_assignment, assigned_shapes),
    (has_argument, argument_shapes),
    (lambda text: "%" in text and "sig=" in text, _signature_shapes),
)
"""Families whose secrets are long words, in order of preference.

Most files have no secret. A search for one literal character, with a long word behind it, costs a tenth of a search
for each anchor.
"""

SHORT_FAMILIES: tuple[Family, ...] = ((lambda text: "@" in text and "://" in text, _url_shapes),)
"""Families whose secrets may be short words: they come behind the others in order of preference."""


def shapes_to_search(text: str) -> list[Shape]:
    """The shapes of which a text may hold one, in order of preference."""
    families = (*LONG_FAMILIES, *SHORT_FAMILIES) if _may_hold_long_word(text) else SHORT_FAMILIES
    return [shape for may_hold, shapes in families if may_hold(text) for shape in shapes()]
