"""From a file and the environment to one frozen `Config`, or to all that is wrong with them.

Owns how settings become a configuration. It must not know how a value is read or a file is found.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from policies.decision import Leg
from policies.settings import (
    Also,
    Answers,
    Egress,
    Envelope,
    Limits,
    Minimality,
    Mode,
    Policies,
    RefusalRule,
    Strategy,
    ToolRule,
)
from proxy.config import keys
from proxy.config.checks import check
from proxy.config.key_files import read_secret
from proxy.config.model import (
    DEFAULT_UPSTREAMS,
    Auth,
    ClientSettings,
    Config,
    Fallback,
    Listen,
    RouteSettings,
    Timeouts,
    UpstreamSettings,
)
from proxy.config.profiles import mode_of, prefers
from proxy.config.reading import Effective, Reading, Row
from proxy.config.sources import Document, find_file, read_document, read_overrides, state_folder
from proxy.problems import Invalid


@dataclass(frozen=True, slots=True)
class Examined:
    """A valid configuration, the file it is from (None without one), and where each setting that
    holds comes from."""

    config: Config
    path: Path | None
    effective: tuple[Effective, ...]


def examine(path: Path | None, environ: Mapping[str, str]) -> Examined:
    """The configuration in `path`, or where the search order finds one, or the defaults; the
    environment beats the file. With origins. Raises `problems.Invalid` with everything that is
    wrong."""
    return _examined(find_file(path, environ), environ)


def load(path: Path | None, environ: Mapping[str, str]) -> Config:
    """The configuration once more, from the file `path` that it was found in; where there was none
    it is searched for again."""
    # SECURITY: a file that is gone must not become the defaults, which ask nobody for a token and
    # send to the vendors.
    found = path if path is not None else find_file(None, environ)
    return _examined(found, environ).config


def _examined(found: Path | None, environ: Mapping[str, str]) -> Examined:
    document = read_document(found) if found else Document()
    overrides, wrong = read_overrides(environ)
    reading = Reading(document, overrides, list(wrong))
    reading.get(keys.VERSION)
    reading.profile = reading.get(keys.PROFILE)
    config = _build(reading, found.parent if found else Path(), environ)
    check(reading, config)
    reading.finish()
    order = {key.path: number for number, key in enumerate(keys.SINGLE)}
    effective = sorted(reading.effective, key=lambda item: order.get(item.path, len(order)))
    # An empty address stands for one that depends on the environment.
    effective = [
        replace(item, value=config.state_url) if item.path == keys.STATE_URL.path else item
        for item in effective
    ]
    return Examined(replace(config, inert=tuple(reading.inert)), found, tuple(effective))


def _build(reading: Reading, folder: Path, environ: Mapping[str, str]) -> Config:
    """Everything that can be read; what cannot has its default, and `reading` says why."""
    return Config(
        listen=Listen(
            host=reading.get(keys.HOST).lower(),
            port=reading.get(keys.PORT),
            names=tuple(name.lower() for name in reading.get(keys.NAMES)),
            origins=reading.get(keys.ORIGINS),
            max_body=reading.get(keys.MAX_BODY),
        ),
        timeouts=Timeouts(
            connect=reading.get(keys.CONNECT),
            first_byte=reading.get(keys.FIRST_BYTE),
            idle=reading.get(keys.IDLE),
            home_first_byte=reading.get(keys.HOME_FIRST_BYTE),
        ),
        fallback=Fallback(
            reading.get(keys.FALLBACK),
            cast(Literal["cloud", "local"], reading.get(keys.PREFER)),
            cast(Literal["header", "text"], reading.get(keys.EXPLAIN)),
            reading.get(keys.MAX_CONTEXT),
        ),
        state_url=reading.get(keys.STATE_URL) or _default_state(reading, environ),
        ledger_keep=reading.get(keys.LEDGER_KEEP),
        secrets_dir=reading.get(keys.SECRETS_DIR),
        policies=_policies(reading),
        profile=reading.profile,
        requests=reading.get(keys.REQUESTS),
        endpoints_open=frozenset(reading.get(keys.ENDPOINTS_OPEN)),
        tailnet=reading.get(keys.TAILNET),
        session_header=reading.get(keys.SESSION_HEADER).lower(),
        upstreams=_upstreams(reading, folder, environ),
        routes=tuple(route for row in reading.rows("route") if (route := _route(row))),
        clients=tuple(client for row in reading.rows("client") if (client := _client(row))),
    )


def _default_state(reading: Reading, environ: Mapping[str, str]) -> str:
    try:
        return f"sqlite://{state_folder(environ) / 'transom.db'}"
    except Invalid as error:
        reading.problems += error.problems
        return "memory:"


def _policies(reading: Reading) -> Policies:
    tools = [
        (*both, row.get(keys.TOOL_WRITES)) for row in reading.rows("tool") if (both := _tool(row))
    ]
    rules = tuple(rule for rule, _, _ in tools)
    writes = tuple((rule.match, says) for rule, _, says in tools if says is not None)
    on_hit = cast(Literal["home", "refuse", "observe"], reading.get(keys.ON_HIT))
    also = tuple(one for row in reading.rows("envelope.also") if (one := _also(row)))
    reminder = cast(Literal["off", "request"], reading.get(keys.REMINDER))
    return Policies(
        envelope=Envelope(reading.get(keys.ENVELOPE_ENABLED), rules, reminder, also),
        egress=Egress(on_hit, cast(Literal["allow", "home"], reading.get(keys.OPAQUE))),
        limits=_limits(reading, writes),
        minimality=Minimality(
            cast(Mode, reading.get(keys.MODE)),
            cast(Strategy, reading.get(keys.STRATEGY)),
            reading.get(keys.MAX_CHARS),
        ),
        refusals=tuple(rule for _, rule, _ in tools),
        answers=Answers(reading.get(keys.DROP_UNDECLARED)),
    )


def _limits(reading: Reading, tools: tuple[tuple[str, bool], ...]) -> Limits:
    return Limits(
        enabled=reading.get(keys.LIMITS_ENABLED),
        max_turns=reading.get(keys.MAX_TURNS),
        style=cast(Literal["answer", "error"], reading.get(keys.STYLE)),
        same_result=reading.get(keys.SAME_RESULT),
        polling=reading.get(keys.POLLING),
        cycle=reading.get(keys.CYCLE),
        read_only=reading.get(keys.READ_ONLY),
        result_bytes=reading.get(keys.RESULT_BYTES),
        exempt=reading.get(keys.EXEMPT),
        tools=tools,
    )


def _tool(row: Row) -> tuple[ToolRule, RefusalRule] | None:
    match, trust = row.get(keys.TOOL_MATCH), row.get(keys.TOOL_TRUST)
    encode, most = row.get(keys.TOOL_ENCODE), row.get(keys.TOOL_MAX_CHARS)
    deny, refused = row.get(keys.TOOL_DENY), row.get(keys.TOOL_REFUSED)
    if match is None or trust is None or encode is None or deny is None:
        return None
    framed = ToolRule(
        match,
        cast(Literal["untrusted", "operator"], trust),
        cast(Literal["raw", "json"], encode),
        most,
    )
    return framed, RefusalRule(match, deny, refused or "")


def _also(row: Row) -> Also | None:
    client = row.get(keys.ALSO_CLIENT)
    opening, closing = row.get(keys.ALSO_OPEN), row.get(keys.ALSO_CLOSE)
    if client is None or opening is None or closing is None:
        return None
    if opening == closing:
        row.complain(keys.ALSO_CLOSE, "must differ from open: nothing would tell where a span ends")
        return None
    return Also(client, opening, closing)


def _route(row: Row) -> RouteSettings | None:
    model, client = row.get(keys.ROUTE_MODEL), row.get(keys.ROUTE_CLIENT)
    dialect, upstream = row.get(keys.ROUTE_DIALECT), row.get(keys.ROUTE_UPSTREAM)
    profile, minimality = row.get(keys.ROUTE_PROFILE), row.get(keys.ROUTE_MINIMALITY)
    prefer = row.get(keys.ROUTE_PREFER)
    if upstream is None or not row.sound:
        return None
    if profile:
        minimality, prefer = minimality or mode_of(profile), prefer or prefers(profile)
    return RouteSettings(
        model or "", client or "", dialect or "", upstream, minimality or "", prefer or ""
    )


def _client(row: Row) -> ClientSettings | None:
    name, token = row.get(keys.CLIENT_NAME), row.get(keys.CLIENT_TOKEN)
    if name is None or token is None:
        return None
    return ClientSettings(name, token.lower())


def _upstreams(
    reading: Reading, folder: Path, environ: Mapping[str, str]
) -> tuple[UpstreamSettings, ...]:
    rows = reading.rows("upstream")
    if rows:
        found = (_upstream(row, folder, environ) for row in rows)
        return tuple(upstream for upstream in found if upstream)
    for number, upstream in enumerate(DEFAULT_UPSTREAMS):
        for name in ("name", "leg", "base_url", "dialects", "auth"):
            value = getattr(upstream, name)
            shown = list(value) if isinstance(value, tuple) else str(value)
            reading.effective.append(Effective(f"upstream[{number}].{name}", shown, "default"))
    return DEFAULT_UPSTREAMS


def _upstream(row: Row, folder: Path, environ: Mapping[str, str]) -> UpstreamSettings | None:
    name, leg = row.get(keys.UP_NAME), row.get(keys.UP_LEG)
    base, dialects = row.get(keys.UP_BASE_URL), row.get(keys.UP_DIALECTS)
    auth, secret, model = row.get(keys.UP_AUTH), row.get(keys.UP_KEY), row.get(keys.UP_MODEL)
    if name is None or leg is None or base is None or dialects is None or not row.sound:
        return None
    auth = auth or _default_auth(row, Leg(leg), base.is_vendor)
    key = None
    if secret and auth == "key":
        try:
            key = read_secret(secret, folder, environ)
        except ValueError as error:
            row.complain(keys.UP_KEY, str(error))
    elif auth == "key":
        row.complain(
            keys.UP_KEY,
            'is missing: auth = "key" needs it',
            'key = { env = "…" } or { file = "…" }',
        )
    elif secret:
        row.complain(keys.UP_KEY, f'is not used with auth = "{auth}"', 'write auth = "key"')
    return UpstreamSettings(name, Leg(leg), base.url, dialects, cast(Auth, auth), key, model or "")


def _default_auth(row: Row, leg: Leg, vendor: bool) -> str:
    if leg is Leg.LOCAL:
        return "none"
    if not vendor:
        row.complain(
            keys.UP_AUTH,
            "is missing: at another address than the vendors' own, say which credentials it gets",
            'auth = "key" with a key of its own; "caller" hands on the caller\'s; or "none"',
        )
        return "none"
    return "caller"
