"""The table of secrets that are in one line: their shapes, by families.

A shape is *common* or *wider*. Everything of a common shape is a secret, and a placeholder among them is marked. A
wider shape also fits other texts, so placeholders of it are not secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from contextasm.model import NamedTuple, grouped
from contextasm.text.cleaning.secrets import values

# Patterns are texts here: `re` compiles each on first need, and keeps it.


class SecretSpan(NamedTuple):
    """Place of a secret in a text."""

    start: int
    end: int
    """Offset after the last character."""
    kind: str
    prefix: str
    """Public beginning of the secret, four characters at most."""
    placeholder: bool
    doubtful: bool = False


class Shape(NamedTuple):
    """Shape of a kind of secret."""

    kind: str
    anchors: tuple[str, ...]
    """Texts of which one begins every match; without any, the pattern itself is searched for where `clue` is found."""
    pattern: str
    """The group `secret` is the secret, else the whole match. No repeat without a bound gives back what it took."""
    is_secret: Callable[[re.Match[str]], bool] = values.always
    """Whether a match is a secret at all."""
    is_real: Callable[[re.Match[str]], bool] = values.always
    """Whether a secret is not a placeholder."""
    wider: bool = False
    """Placeholders are not secrets."""
    folded: bool = False
    """Anchors are in small letters and match any case."""
    long: bool = False
    """The secret goes on after the bound of the pattern, to the end of the word."""
    clue: str = ""
    """A part of every match that begins with one certain character, which is found faster."""
    is_sure: Callable[[re.Match[str]], bool] = values.always
    """Whether a secret can hardly be anything else."""


# --- Makers of shapes ------------------------------------------------------------------------------------------------

ESCAPE = r"(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})"
"""The end of a character that JSON, a URL or a program's code writes with letters."""

EDGE = rf"(?:(?<![A-Za-z])|{ESCAPE})"
"""What may be before a prefix that says enough: anything but a letter."""

WORD_EDGE = rf"(?:(?<!\w)|(?<=(?<!\w)_)|(?<=(?<!\w)__)|{ESCAPE})"
"""The start of a word, in the emphasis of Markdown as may be."""

TAIL = r"(?![A-Za-z0-9])"
"""The end of a secret of fixed length: an underscore or hyphen after it is not part of it."""


def common(kind: str, anchors: str, pattern: str, clue: str = "", edge: str = EDGE) -> Shape:
    """A common shape; `anchors` are set apart by blanks, and `pattern` begins with one of them, after `edge`."""

    def is_real(match: re.Match[str]) -> bool:
        prefix = next((anchor for anchor in anchors.split() if match[0].startswith(anchor)), "")
        return not values.is_stand_in(match[0][len(prefix) :])

    return Shape(kind, tuple(anchors.split()), f"(?a){edge}(?:{pattern})", is_real=is_real, clue=clue)


def wider(kind: str, anchors: str, body: str) -> Shape:
    """A wider shape: one of the anchors, which are set apart by blanks, and the pattern of what follows."""
    either = "|".join(re.escape(anchor) for anchor in anchors.split())
    pattern = f"(?a){EDGE}(?:{either})(?P<body>{body})"
    return Shape(kind, tuple(anchors.split()), pattern, is_real=values.has_random_body, wider=True)


def with_body(kind: str, anchors: str, pattern: str, *, folded: bool = False) -> Shape:
    """A common shape of which the group `body` says whether it is a placeholder; `anchors` as in `common`."""
    return Shape(kind, tuple(anchors.split()), pattern, is_real=values.has_random_body, folded=folded)


# --- Shapes by families ----------------------------------------------------------------------------------------------

PASSWORDS = (
    *("password", "passwd", "passphrase", "passwort", "kennwort", "mot de passe", "contrase\u00f1a", "senha"),
    *("wachtwoord", "pwd", "pw", "\u043f\u0430\u0440\u043e\u043b\u044c", "\u5bc6\u7801", "\u5bc6\u78bc"),
    *("\u30d1\u30b9\u30ef\u30fc\u30c9", "\ube44\ubc00\ubc88\ud638"),
)
"""Names of passwords in small letters."""

_PASSWORD = rf"(?i:(?:(?<![a-z])pw(?!d)|{'|'.join(name for name in PASSWORDS if name != 'pw')})(?![a-z]))"

_KEYS = ("api", "access", "private", "encryption", "master", "auth")
"""Words for keys that are secrets. A signing key is often named by its fingerprint, so it is not among them."""

_LABEL = (
    rf"(?i:(?P<strong>secret|token|api_?key|access_?key|credential|{'|'.join(PASSWORDS[:9])})"
    rf"|(?:{'|'.join(_KEYS)})[-_ ]?key|_auth(?![a-z_-])|(?<![a-z])(?:pwd|pass|pw)(?![a-z])"
    rf"|{'|'.join(PASSWORDS[11:])})"
)
"""A name of a secret. Other things, too, follow names that are not `strong`."""

_ANCHORS = (
    *("secret", "token", "pass", "credential", "_auth", *PASSWORDS[3:]),
    *(f"{word}{between}key" for word in _KEYS for between in ("", "_", "-", " ")),
)


_BEHIND_NAME = r"[\\'\"`*_\]]{0,6}"
_BEFORE_VALUE = r"[*`]{0,2}\s{0,3}(?:[|>][-+]?[ \t]{0,3}\r?\n[ \t]{1,20})?[\\'\"`*]{0,5}"
"""Signs of Markdown, quotes, and the beginning of a block of YAML."""

_SIGN = (
    rf"{_BEHIND_NAME}\s{{0,3}}(?::=|=>|=|:|\uff1a|\||&#(?:58|61|x3a);){_BEFORE_VALUE}"
    r"|(?P<other>>(?=[^\s<>]{16,256}</)|['\"],\s{0,3}['\"]"
    r"|['\"]?[ \t]{0,3}\r?\n[ \t]{0,20}['\"]?value['\"]?:[ \t]{0,3}['\"]?)"
)
"""What is between name and value; other than an assignment: a tag, a default value, a variable of a container."""

_LETTERS = r"(?P<secret>(?:[A-Za-z0-9+/_.~=-]|\\[\"'](?=[A-Za-z0-9+/_.~=-])){16,256}+)"


ASSIGNED_SHAPES = (
    with_body("azure-storage-key", "AccountKey=", r"AccountKey=(?P<secret>(?P<body>[A-Za-z0-9+/]{86}==))"),
    Shape(
        "assigned-secret",
        _ANCHORS,
        rf"{_LABEL}(?P<rest>[\w.-]{{0,20}}+)(?:{_SIGN}){_LETTERS}(?P<call>\(?)",
        values.is_random_value,
        folded=True,
        long=True,
        is_sure=values.has_digits,
    ),
)
"""Values after a sign that assigns them to a name."""


_AUTHORIZATION = (
    r"(?i:authorization[\\'\"]{0,4}\]?\s{0,3}[:=,]\s{0,3}[\\'\"]{0,4}(?:bearer|token|basic|api-?key)\s{1,3})"
    r"(?P<secret>(?P<body>[A-Za-z0-9_.~+/=-](?:[A-Za-z0-9_.~+/=!#%&:@^?-]|\*(?=[A-Za-z0-9])){19,}+))"
)

_COOKIE = (
    r"(?i)cookie[\\'\"]{0,4}\s{0,3}[:=,]\s{0,3}[\\'\"]{0,4}(?:[\w.-]{1,40}=[^\s;'\"]{0,15};\s?){0,8}+[\w.-]{1,40}="
    r"(?P<secret>(?P<body>[\w.%+/~=-]{16,}+)(?:;\s?(?!(?:path|domain|max-age|samesite)=)[\w.-]{1,40}=[^\s;'\"]{0,4000}+)*+)"
)

HEADER_SHAPES = (
    with_body("authorization-header", "authorization", _AUTHORIZATION, folded=True),
    Shape("cookie", ("cookie",), _COOKIE, values.is_random_body, folded=True),
)
"""Values in headers of HTTP, which may have signs between short words."""


_END_SIGNS = r"\s\"'`|<>,;{}()\[\]"
_PASSWORD_VALUE = rf"(?P<secret>[^{_END_SIGNS}]{{5,127}}[^{_END_SIGNS}.:\\*])(?P<call>\(?)"
_NAMED_PASSWORD = rf"{_PASSWORD}(?:{_SIGN}){_PASSWORD_VALUE}"

_COMMANDS = ("sshpass ", "identified ", "create user ", "alter user ", "create role ", "alter role ")
_PASSWORD_OF_COMMAND = (
    r"(?:(?i:sshpass)\s{1,3}-p\s{0,3}['\"]?"
    r"|(?:IDENTIFIED|(?i:(?:create|alter)\s(?:user|role)\s[^;]{0,80}?(?:identified|password)))"
    rf"(?i:\s[\w\s]{{0,40}}?by)?(?i:\spassword)?\s{{1,3}}['\"]){_PASSWORD_VALUE}"
)

PASSWORD_SHAPES = tuple(
    Shape("assigned-secret", anchors, pattern, values.is_password, folded=True, is_sure=values.never)
    for anchors, pattern in ((PASSWORDS, _NAMED_PASSWORD), (_COMMANDS, _PASSWORD_OF_COMMAND))
)
"""Values after a name of a password, or in a command of a shell or of SQL. These may be short and have any signs."""


def _argument(anchors: tuple[str, ...], pattern: str) -> Shape:
    whole_pattern = rf"{pattern}{_LETTERS}(?P<call>\(?)"
    return Shape(
        "assigned-secret", anchors, whole_pattern, values.is_random_value, long=True, is_sure=values.has_digits
    )


ARGUMENT_SHAPES = (
    _argument(
        ("--",),
        r"--(?:[a-z0-9]{1,20}-){0,3}(?:secret|token|password|passwd|passphrase|pass|pwd|key)[ \t]{1,3}['\"]?",
    ),
    _argument(("login ",), r"login[ \t]+\S{1,80}+\s{1,8}password[ \t]{1,3}"),
    _argument(("-u", "--user"), r"-(?:u|-user)[ =]{0,2}['\"]?[\w.@-]{1,64}+:"),
)
"""Values after an option or word of a command, set apart by a blank."""


SERVICES = (
    *("pplx-", "xai-", "tskey-", "PMAK-", "NRAK-", "NRII-", "tvly-", "nvapi-", "csk-", "CFPAT-", "pul-", "sq0csp-"),
    *("sq0atp-", "sbp_", "sb_secret_", "lsv2_", "r8_", "jina_", "figd_", "nfp_", "rnd_", "phx_", "phc_", "sntrys_"),
    *("sntryu_", "e2b_", "fw_", "glc_", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", "rubygems_", "lin_oauth_"),
    *("shippo_live_", "rzp_live_", "sk_", "tfp_", "ory_pat_", "dt0c01.", "dp.pt.", "dp.st.", "atlasv1."),
    *("HRKU-", "xkeysib-", "xsmtpsib-"),
)
"""The beginnings of keys of services that have no shape of their own."""

_SERVICE_KEY = rf"(?a){EDGE}(?:{'|'.join(map(re.escape, SERVICES))})(?P<body>\w+(?:[.+/-]+\w+)*+)"

TOKEN_SHAPES = (
    # Prefixes that end in an underscore.
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
    common("notion-token", "ntn_ secret_", r"(?:ntn_[A-Za-z0-9]{40,}+|secret_[A-Za-z0-9]{43}" + TAIL + ")"),
    common("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}+={0,2}"),
    common("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}+"),
    common("grafana-token", "glsa_", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}" + TAIL),
    # Prefixes that end in a hyphen, in order of preference: an Anthropic key also begins as an OpenAI key does.
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
    wider("openai-key", "sk-", r"(?:[a-z0-9]{1,8}-){0,3}[A-Za-z0-9]{32,}+(?:[-_]+[A-Za-z0-9]+)*+"),
    common("google-oauth-secret", "GOCSPX-", r"GOCSPX-[\w-]{28}" + TAIL),
    common("pypi-token", "pypi-AgE", r"pypi-AgE[\w-]{50,}+"),
    common("mailgun-key", "key-", r"key-[0-9a-f]{32}" + TAIL, edge=WORD_EDGE),
    common("mailchimp-key", "", r"[0-9a-f]{32}-us\d{1,2}" + TAIL, r"-us\d", WORD_EDGE),
    common("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}" + TAIL),
    # Tokens with a dot in them, among these JSON Web Tokens.
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
        rf"(?a){EDGE}(?P<head>eyJ[\w-]{{15,2000}}+)\.(?P<claims>eyJ[\w-]{{15,4000}}+)\.[\w-]{{20,}}+",
        values.is_jwt,
        values.is_real_jwt,
    ),
    Shape(
        "jwt",
        ("eyJ",),
        # No hyphen before it: a long run of them would be read anew from each place on.
        rf"(?a)(?<!-){WORD_EDGE}(?P<head>eyJ[\w-]{{10,}}+)\.(?P<claims>[\w-]{{4,}}+)\.[\w-]{{10,}}+",
        is_real=values.is_real_jwt,
        wider=True,
    ),
    # Prefixes with no sign at their ends.
    common("telegram-token", "", r"[0-9]{8,10}:AA[\w-]{33}" + TAIL, r":AA[\w-]{33}", rf"(?:(?<![0-9])|{ESCAPE})"),
    common("airtable-token", "", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}" + TAIL, r"\.[0-9a-f]{64}", WORD_EDGE),
    common("paypal-token", "", r"access_token\$[a-z]{7,10}\$[0-9a-z]{16}\$[0-9a-f]{32}" + TAIL, r"\$[0-9a-z]{16}\$"),
    common("twilio-key", "SK", r"SK[0-9a-f]{32}" + TAIL, edge=WORD_EDGE),
    common("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?" + TAIL, edge=WORD_EDGE),
    common("aws-access-key-id", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}" + TAIL),
    wider("aws-access-key-id", "AKIA ASIA", r"[A-Z0-9]{16}" + TAIL),
    common("tencent-secret-id", "AKID", r"AKID[A-Za-z0-9]{32}" + TAIL),
    common("alibaba-access-key-id", "LTAI", r"LTAI(?=[A-Za-z]{0,19}[0-9])(?:[A-Za-z0-9]{8})?[A-Za-z0-9]{12}" + TAIL),
    common("azure-client-secret", "", r"[\w.~]{3}\dQ~[\w.~-]{31,34}" + TAIL, r"Q~(?<=\dQ~)", WORD_EDGE),
    common("atlassian-token", "ATATT3x", r"ATATT3x[\w-]{60,}+(?:=[0-9A-F]{8})?"),
    common("google-api-key", "AIza", r"AIza[\w-]{35}" + TAIL),
    # Known beginnings, and random signs with digits after them.
    Shape("service-key", SERVICES, _SERVICE_KEY, is_real=values.is_random_body, wider=True),
)
"""Tokens and keys that say by themselves what they are, most by a prefix."""


@cache
def token_pattern(sign: str) -> str:
    """A pattern that fits where a prefix of `TOKEN_SHAPES` may end whose last sign is this one of `-_.`."""
    anchors = {anchor for shape in TOKEN_SHAPES for anchor in shape.anchors}
    heads = {anchor[: match.end()] for anchor in anchors if (match := re.match(r".*[-_.]", anchor))}
    by_length = grouped((len(head), re.escape(head)) for head in sorted(heads) if head.endswith(sign))
    before = "|".join(f"(?<={'|'.join(own)})" for own in by_length.values())
    return rf"{re.escape(sign)}(?=[\w.+/-]{{10}})(?:{before})"


WEBHOOK_SHAPES = (
    with_body(
        "slack-webhook",
        "https://hooks.slack.com/",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/(?P<body>[A-Za-z0-9_/+-]{20,}+)",
    ),
    with_body(
        "discord-webhook",
        "https://discord.com/api/webhooks/ https://discordapp.com/api/webhooks/",
        r"https://discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/(?P<body>[A-Za-z0-9_-]{50,}+)",
    ),
    wider("slack-webhook", "hooks.slack.com/services/", r"T\w{8,}+/B\w{8,}+/\w{20,}+"),
    with_body(
        "azure-signature",
        "sig=",
        r"sig=(?<=[?&;\"'\s]sig=)(?P<secret>(?P<body>(?:[A-Za-z0-9]|%2[BFbf]){43,100}+%3[Dd]))",
    ),
)
"""Addresses that are secrets."""


AWS_SECRET_SHAPES = (
    with_body(
        "aws-secret-key",
        "aws",
        r"(?i:aws.{0,20}(?:secret|key).{0,12})['\"=:\s](?P<secret>(?P<body>[A-Za-z0-9/+]{40}))(?![A-Za-z0-9/+=])",
        folded=True,
    ),
)
"""Secret keys after a name of AWS."""


URL_SHAPES = (
    Shape(
        "url-password",
        ("://",),
        r"://[^\s:/@'\"<>]{0,64}+:(?P<secret>[^\s:/@'\"<>$]{3,128}+)@(?=[\w.-])(?P<host>[\w.${%-]++)",
        is_real=values.is_password_of_real_host,
    ),
    Shape(
        "url-password",
        ("://",),
        (
            r"(?<=[A-Za-z0-9])://[^\s:@/\"'<>`]*+:(?P<secret>[^\s@/\"'<>`]++)@"
            r"(?P<host>\[[0-9A-Fa-f:.]*+\]|[\w.${%-]++)"
        ),
        is_real=values.is_password_of_real_host,
        wider=True,
    ),
)
"""Passwords in addresses."""
