"""What a configuration says, as frozen values; the defaults are those of a node without a file.

Owns the shapes that the rest of `proxy` reads. It must not know files, lines or the environment.
"""

from dataclasses import dataclass, field
from typing import Literal

from policies.decision import Leg
from policies.settings import Policies
from proxy.config.kinds import Rate
from proxy.config.profiles import DEFAULT

Auth = Literal["caller", "key", "none"]
Family = Literal["anthropic", "openai", "ollama"]


@dataclass(frozen=True, slots=True)
class Listen:
    """The address that clients call. `names`: further Host names that are this listener's;
    `origins`: browser origins that may call; `max_body`: bytes, decoded."""

    host: str = "127.0.0.1"
    port: int = 8787
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    max_body: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits towards upstreams, in seconds: to connect, until the first byte of the answer, and
    between two chunks of it. There is no limit on the whole. `home_first_byte`: likewise, of a
    model at home that answers what must not leave; its answers in one piece have both."""

    connect: float = 10.0
    first_byte: float = 600.0
    idle: float = 300.0
    home_first_byte: float = 300.0


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    """One upstream. `base_url` has no trailing slash and no trailing `/v1`. `key` is the secret
    itself, only with `auth = "key"`. `model`: what a fallback asks for."""

    name: str
    leg: Leg
    base_url: str
    dialects: tuple[str, ...]
    auth: Auth
    key: str | None = field(default=None, repr=False)
    model: str = ""


@dataclass(frozen=True, slots=True)
class Fallback:
    """Who answers what must not leave. `prefer`: `local` where it also answers what may, as far as
    it can. `explain`: whether the answer's text says so too. `max_context`: tokens."""

    upstream: str = "home"
    prefer: Literal["cloud", "local"] = "cloud"
    explain: Literal["header", "text"] = "header"
    max_context: int = 32_768


@dataclass(frozen=True, slots=True)
class RouteSettings:
    """Requests whose model and client match these globs, and whose dialect is this one, go to
    `upstream`. Empty matches everything. `minimality`: their mode, `prefer`: who is asked first;
    empty for the general one."""

    model: str
    client: str
    dialect: str
    upstream: str
    minimality: str = ""
    prefer: str = ""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """A client that may call. `token_sha256`: SHA-256 of its token, 64 lower-case hex digits."""

    name: str
    token_sha256: str = field(repr=False)


DEFAULT_UPSTREAMS = (
    UpstreamSettings("claude", Leg.CLOUD, "https://api.anthropic.com", ("anthropic",), "caller"),
    UpstreamSettings("openai", Leg.CLOUD, "https://api.openai.com", ("openai",), "caller"),
    UpstreamSettings("home", Leg.LOCAL, "http://127.0.0.1:11434", ("ollama",), "none"),
)
"""What a configuration without any `[[upstream]]` has."""


@dataclass(frozen=True, slots=True)
class Config:
    """A valid configuration. `profile`: whose defaults hold. `ledger_keep`: seconds. `requests`:
    soft and hard rate of one session.
    `inert`: keys that were written but that this
    version does not act on, in file order."""

    listen: Listen = Listen()
    timeouts: Timeouts = Timeouts()
    state_url: str = "memory:"
    ledger_keep: float = 45 * 86_400.0
    secrets_dir: str = ""
    policies: Policies = field(default_factory=Policies)
    profile: str = DEFAULT
    requests: tuple[Rate, Rate] = (Rate(300, 600.0), Rate(1200, 600.0))
    endpoints_open: frozenset[str] = frozenset()
    tailnet: bool = False
    fallback: Fallback = Fallback()
    session_header: str = ""
    upstreams: tuple[UpstreamSettings, ...] = DEFAULT_UPSTREAMS
    routes: tuple[RouteSettings, ...] = ()
    clients: tuple[ClientSettings, ...] = ()
    inert: tuple[str, ...] = ()

    @property
    def home(self) -> UpstreamSettings | None:
        """The upstream that answers what must not leave; None where there is none, or where no
        model is named that it would be asked for."""
        for upstream in self.upstreams:
            if upstream.name == self.fallback.upstream:
                return upstream if upstream.model and upstream.leg is Leg.LOCAL else None
        return None
