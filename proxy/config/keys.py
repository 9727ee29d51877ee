"""Every setting: its kind, its default, its sentence, and what this version does with it.

Owns the table that loading, `check --show`, `config.example.toml` and the reference are made from.
It must not know files, lines or the environment. Names are part of the outward contract.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from policies.settings import (
    Also,
    Answers,
    Egress,
    Envelope,
    Limits,
    Minimality,
    RefusalRule,
    ToolRule,
)
from proxy.config import shapes
from proxy.config.addresses import Base
from proxy.config.kinds import Kind, choice, duration, flag, many, pair, rate, size, whole
from proxy.config.profiles import DEFAULT, PROFILES
from proxy.config.shapes import Secret, help_of
from proxy.endpoint_table import GROUPS

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Key(Generic[T_co]):
    """One setting. `default`: as it is written in TOML; None where it has no value when it is left
    out. `required`: must be written wherever its table is. `now`: the values that this version
    takes, None for all. `inert`: accepted and named in a warning, because the part of Transom that
    acts on it is not in this version."""

    path: str
    kind: Kind[T_co]
    default: object
    help: str
    required: bool = False
    now: tuple[object, ...] | None = None
    inert: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


VERSION: Final = Key("version", whole(1, 1), 1, "Version of this file's format.")
PROFILE: Final = Key(
    "profile",
    choice(*PROFILES),
    DEFAULT,
    "Set of defaults; a key that is written beats it.",
)
HOST: Final = Key(
    "listen.host",
    shapes.HOST_NAME,
    "127.0.0.1",
    "Address to listen on; one that others can reach needs a [[client]].",
)
PORT: Final = Key("listen.port", whole(0, 65535), 8787, "Port to listen on; 0 takes a free one.")
NAMES: Final = Key(
    "listen.names",
    many(shapes.HOST_NAME),
    [],
    "Further names by which clients call this listener.",
)
ORIGINS: Final = Key(
    "listen.origins", many(shapes.ORIGIN), [], "Browser origins whose pages may call this listener."
)
MAX_BODY: Final = Key(
    "listen.max_body",
    size(1024, 1024**3),
    "64 MiB",
    "Largest request body, decoded.",
)
CONNECT: Final = Key("timeouts.connect", duration(), "10s", "Longest time to reach an upstream.")
FIRST_BYTE: Final = Key(
    "timeouts.first_byte", duration(), "600s", "Longest wait for the first byte of an answer."
)
IDLE: Final = Key(
    "timeouts.idle", duration(), "300s", "Longest silence within an answer that has begun."
)
HOME_FIRST_BYTE: Final = Key(
    "timeouts.home_first_byte",
    duration(),
    "300s",
    "Longest wait for the first byte of a local model, which may have to be loaded.",
)
STATE_URL: Final = Key(
    "state.url",
    shapes.state_url(),
    "",
    "Where Transom remembers; empty is transom.db in $XDG_STATE_HOME/transom.",
)
SECRETS_DIR: Final = Key(
    "screen.secrets_dir",
    shapes.PATH,
    "",
    "Folder whose files hold secrets that must not leave, one in each; read again when changed.",
)
ON_HIT: Final = Key(
    "screen.on_hit",
    choice("home", "refuse", "redact", "observe"),
    Egress().on_hit,
    help_of(Egress, "on_hit"),
    now=("home", "refuse", "observe"),
)
OPAQUE: Final = Key(
    "screen.opaque", choice("allow", "home"), Egress().opaque, help_of(Egress, "opaque")
)
ENVELOPE_ENABLED: Final = Key(
    "envelope.enabled", flag(), Envelope().enabled, help_of(Envelope, "enabled")
)
REMINDER: Final = Key(
    "envelope.reminder",
    choice("off", "request"),
    Envelope().reminder,
    help_of(Envelope, "reminder"),
)
MODE: Final = Key(
    "minimality.mode",
    choice("strict", "dialogue", "off"),
    PROFILES[DEFAULT]["minimality.mode"],
    help_of(Minimality, "mode"),
)
STRATEGY: Final = Key(
    "minimality.strategy",
    choice("drop", "elide", "home"),
    Minimality().strategy,
    help_of(Minimality, "strategy"),
)
MAX_CHARS: Final = Key(
    "minimality.max_outbound_chars",
    whole(0, 10**9),
    Minimality().max_outbound_chars,
    help_of(Minimality, "max_outbound_chars"),
)
LEDGER_KEEP: Final = Key(
    "ledger.keep",
    duration(3600),
    "45d",
    "How long frames are remembered after their last use.",
)
SESSION_HEADER: Final = Key(
    "session.header",
    shapes.HEADER_NAME,
    "",
    "Header that names the session, if not the clients' own.",
)
ENDPOINTS_OPEN: Final = Key(
    "endpoints.open",
    many(choice(*sorted(GROUPS))),
    [],
    "Groups of endpoints to open although what goes through them is not screened.",
)
TAILNET: Final = Key(
    "local.tailnet", flag(), False, "Count 100.64.0.0/10 as local, for a home on a tailnet."
)

LIMITS_ENABLED: Final = Key("limits.enabled", flag(), Limits().enabled, help_of(Limits, "enabled"))
MAX_TURNS: Final = Key(
    "limits.max_turns", whole(1, 100_000), Limits().max_turns, help_of(Limits, "max_turns")
)
STYLE: Final = Key(
    "limits.style", choice("answer", "error"), Limits().style, help_of(Limits, "style")
)
SAME_RESULT: Final = Key(
    "limits.same_result",
    shapes.LIMIT,
    [*Limits().same_result],
    help_of(Limits, "same_result"),
)
POLLING: Final = Key(
    "limits.polling", shapes.LIMIT, [*Limits().polling], help_of(Limits, "polling")
)
CYCLE: Final = Key("limits.cycle", shapes.LIMIT, [*Limits().cycle], help_of(Limits, "cycle"))
READ_ONLY: Final = Key(
    "limits.read_only", shapes.LIMIT, [*Limits().read_only], help_of(Limits, "read_only")
)
RESULT_BYTES: Final = Key(
    "limits.result_bytes",
    pair(size(1, 1024**3), float),
    ["4 MB", "16 MB"],
    help_of(Limits, "result_bytes"),
)
EXEMPT: Final = Key("limits.exempt", many(shapes.GLOB), [], help_of(Limits, "exempt"))

REQUESTS: Final = Key(
    "limits.requests",
    pair(rate(), lambda limit: limit.count / limit.seconds),
    ["300/10m", "1200/10m"],
    "Requests of one session to a model, soft and hard.",
)
DROP_UNDECLARED: Final = Key(
    "answers.drop_undeclared_calls",
    flag(),
    Answers().drop_undeclared_calls,
    help_of(Answers, "drop_undeclared_calls"),
)

FALLBACK: Final = Key(
    "fallback.upstream", shapes.NAME, "home", "Local upstream that answers what must not leave."
)
EXPLAIN: Final = Key(
    "fallback.explain",
    choice("header", "text"),
    "header",
    "Where an answer from home says that it is one: in its headers alone, or in its text too.",
)
PREFER: Final = Key(
    "fallback.prefer",
    choice("cloud", "local"),
    PROFILES[DEFAULT]["fallback.prefer"],
    "Who is asked first: local sends a request home whenever the model there can answer it.",
)
MAX_CONTEXT: Final = Key(
    "fallback.max_context",
    whole(2048, 10**7),
    32_768,
    "Most tokens of context that a local model is asked for; more takes more of its memory.",
)

LIMITS: Final = (
    LIMITS_ENABLED, MAX_TURNS, STYLE, SAME_RESULT, POLLING, CYCLE, READ_ONLY, RESULT_BYTES, EXEMPT,
    REQUESTS,
)  # fmt: skip

SINGLE: Final[tuple[Key[object], ...]] = tuple(
    key
    for key in (
        VERSION, PROFILE,
        HOST, PORT, NAMES, ORIGINS, MAX_BODY,
        CONNECT, FIRST_BYTE, IDLE,
        HOME_FIRST_BYTE,
        Key("owner.enabled", flag(), False, "Serve the owner's page.", now=(False,)),
        Key("owner.host", shapes.HOST_NAME, "127.0.0.1",
            "Address of the owner's page.", inert=True),
        Key("owner.port", whole(0, 65535), 8788, "Port of the owner's page.", inert=True),
        STATE_URL,
        LEDGER_KEEP,
        SECRETS_DIR, ON_HIT, OPAQUE,
        ENVELOPE_ENABLED, REMINDER,
        MODE, STRATEGY, MAX_CHARS,
        *LIMITS,
        DROP_UNDECLARED,
        SESSION_HEADER, ENDPOINTS_OPEN, TAILNET,
        FALLBACK, PREFER, EXPLAIN, MAX_CONTEXT,
    )
)  # fmt: skip
"""Settings that stand once."""

UP_NAME: Final = Key("upstream.name", shapes.NAME, None, "Name of the upstream.", required=True)
UP_LEG: Final = Key(
    "upstream.leg",
    choice("cloud", "local"),
    None,
    "Cloud is allowed on any address, local only on addresses of this house.",
    required=True,
)
UP_BASE_URL: Final[Key[Base]] = Key(
    "upstream.base_url",
    shapes.base(),
    None,
    "Its address, with a path prefix if there is one; a trailing /v1 is folded.",
    required=True,
)
UP_DIALECTS: Final = Key(
    "upstream.dialects",
    many(shapes.FAMILY, least=1),
    None,
    "What it speaks: anthropic, openai, ollama.",
    required=True,
)
UP_AUTH: Final = Key(
    "upstream.auth",
    choice("caller", "key", "none"),
    None,
    "Credentials it gets: the caller's, the key below, or none. Left out, it is caller for the "
    "vendors' own addresses and none for local.",
)
UP_KEY: Final[Key[Secret]] = Key(
    "upstream.key", shapes.secret(), None, 'Where the key is, with auth = "key".'
)
UP_MODEL: Final = Key(
    "upstream.model",
    shapes.GLOB,
    None,
    "Model that a fallback asks for; without one, what must not leave is refused.",
)

ROUTE_MODEL: Final = Key("route.model", shapes.GLOB, None, "Glob over model names.")
ROUTE_CLIENT: Final = Key("route.client", shapes.GLOB, None, "Glob over client names.")
ROUTE_DIALECT: Final = Key("route.dialect", shapes.FAMILY, None, "Dialect of the request.")
ROUTE_UPSTREAM: Final = Key(
    "route.upstream", shapes.NAME, None, "Upstream that takes it.", required=True
)

ROUTE_PREFER: Final = Key(
    "route.prefer",
    choice("local", "cloud"),
    None,
    "Who is asked first for these requests: local, or the upstream of this route.",
)
ROUTE_PROFILE: Final = Key(
    "route.profile", choice(*PROFILES), None, "Another profile for these requests."
)
ROUTE_MINIMALITY: Final = Key(
    "route.minimality",
    choice("strict", "dialogue", "off"),
    None,
    "Another minimality mode for these requests.",
)

CLIENT_NAME: Final = Key("client.name", shapes.NAME, None, "Name of the client.", required=True)
CLIENT_TOKEN: Final = Key(
    "client.token_sha256",
    shapes.HEX,
    None,
    "SHA-256 of its token: printf %s TOKEN | sha256sum.",
    required=True,
)

TOOL_MATCH: Final = Key("tool.match", shapes.GLOB, None, help_of(ToolRule, "match"), required=True)
TOOL_TRUST: Final = Key(
    "tool.trust",
    choice("untrusted", "operator"),
    "untrusted",
    help_of(ToolRule, "trust"),
)
TOOL_ENCODE: Final = Key("tool.encode", choice("raw", "json"), "raw", help_of(ToolRule, "encode"))
TOOL_WRITES: Final = Key(
    "tool.writes",
    flag(),
    None,
    "The tool changes something; left out, its name says whether it does.",
)
TOOL_MAX_CHARS: Final = Key("tool.max_chars", whole(1, 10**9), None, help_of(ToolRule, "max_chars"))
TOOL_DENY: Final = Key("tool.deny", flag(), False, help_of(RefusalRule, "deny"))
TOOL_REFUSED: Final = Key("tool.refused", shapes.WORDS, None, help_of(RefusalRule, "refused"))

ALSO_CLIENT: Final = Key(
    "envelope.also.client", shapes.GLOB, None, help_of(Also, "client"), required=True
)
ALSO_OPEN: Final = Key(
    "envelope.also.open", shapes.WORDS, None, help_of(Also, "open"), required=True
)
ALSO_CLOSE: Final = Key(
    "envelope.also.close", shapes.WORDS, None, help_of(Also, "close"), required=True
)

ARRAYS: Final[Mapping[str, tuple[Key[object], ...]]] = {
    "upstream": (UP_NAME, UP_LEG, UP_BASE_URL, UP_DIALECTS, UP_AUTH, UP_KEY, UP_MODEL),
    "route": (
        ROUTE_MODEL, ROUTE_CLIENT, ROUTE_DIALECT, ROUTE_UPSTREAM,
        ROUTE_PREFER, ROUTE_PROFILE, ROUTE_MINIMALITY,
    ),
    "client": (CLIENT_NAME, CLIENT_TOKEN),
    "tool": (
        TOOL_MATCH, TOOL_TRUST, TOOL_ENCODE, TOOL_MAX_CHARS, TOOL_DENY, TOOL_REFUSED,
        TOOL_WRITES,
    ),
    "envelope.also": (ALSO_CLIENT, ALSO_OPEN, ALSO_CLOSE),
}  # fmt: skip
"""Tables that may stand several times, with the settings of each."""
