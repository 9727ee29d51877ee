"""Kinds of values that belong to single settings: addresses, names, globs, places of secrets.

Owns what such a value may look like. It must not know which setting takes it.
"""

import re
from dataclasses import dataclass, fields, replace
from typing import Final

from proxy.config import addresses
from proxy.config.kinds import Kind, choice, pair, pattern, string, whole
from proxy.endpoint_table import TABLE, Treatment

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret is: exactly one of `file` and `env`."""

    file: str = ""
    env: str = ""


def secret() -> Kind[Secret]:
    """`{ file = "…" }` or `{ env = "…" }`."""
    expects = 'a place, { file = "…" } or { env = "…" }'

    def read(value: object) -> Secret:
        match value:
            case {"file": str(path), **others} if path and not others:
                return Secret(file=path)
            case {"env": str(name), **others} if not others and _VARIABLE.fullmatch(name):
                return Secret(env=name)
            case str():
                # SECURITY: this may be the secret itself. It is not shown, and it is not taken.
                raise ValueError(f"expected {expects}, got a literal; a secret must not stand here")
            case {"file": _, "env": _}:
                raise ValueError(f"expected {expects}, got both")
            case _:
                raise ValueError(f"expected {expects}")

    return Kind(expects, read)


def base() -> Kind[addresses.Base]:
    """An address to which endpoints are added. One that ends in an endpoint would be asked for that
    endpoint twice, and answer every request with a 404."""

    def read(value: object) -> addresses.Base:
        found = addresses.read_base(value if isinstance(value, str) else "")
        if end := _endpoint(found.path):
            before = replace(found, path=found.path[: -len(end)])
            rest = f'"{before.url}"' if _everybodys(before) else "what stands before it"
            raise ValueError(
                f"ends in an endpoint, {end}, which every request brings along; write {rest}"
            )
        return found

    return Kind("an address, with a path prefix if there is one", read)


def _everybodys(address: addresses.Base) -> bool:
    """Whether it may be shown: a name or a path may hold what only its owner knows."""
    numbers = addresses.literal(address.host) is not None or address.host == "localhost"
    return address.is_vendor or (numbers and not address.path)


def _endpoint(path: str) -> str:
    """The endpoint that `path` ends in, as it is written there; empty if it ends in none."""
    written = path.lower()
    return next((path[-len(end) :] for end in _ENDS if written.endswith(end)), "")


def _ends() -> tuple[str, ...]:
    """Endpoints that are relayed, the longest first, and those of several words without `/v1`, as
    vendors elsewhere have them: one word may be anybody's prefix."""
    relayed = {each.path for each in TABLE if each.treatment not in _ANSWERED}
    whole = {path for path in relayed if path.count("/") > 1 and "{" not in path}
    short = {path.removeprefix("/v1") for path in whole}
    return tuple(
        sorted(whole | {path for path in short if path.count("/") > 1}, key=len, reverse=True)
    )


_ANSWERED: Final = {Treatment.REFUSED, Treatment.INTERNAL}
_ENDS: Final = _ends()


def state_url() -> Kind[str]:
    expects = '"", "memory:" or sqlite:// and an absolute path, for example "sqlite:///srv/t.db"'
    shape = re.compile(r"memory:|sqlite:///[^/\x00-\x1f?#][^\x00-\x1f?#]*|")
    return string(expects, lambda value: shape.fullmatch(value) is not None)


def help_of(owner: type, name: str) -> str:
    for field in fields(owner):
        if field.name == name:
            return str(field.metadata["help"])
    raise LookupError(name)


HOST_NAME: Final = string(
    "an IP address or a host name",
    lambda host: addresses.read_host(host.lower()),
)
ORIGIN: Final = string('an origin such as "http://localhost:3000"', addresses.read_origin)
NAME: Final = pattern("a name of letters, digits, . _ -, at most 48", r"[A-Za-z0-9._-]{1,48}")
GLOB: Final = pattern("a glob of printable ASCII, at most 200", r"[!-~]{1,200}")
PATH: Final = string(
    "an absolute path, or nothing",
    lambda path: not path or (path.startswith("/") and path.isprintable()),
)
HEADER_NAME: Final = string(
    "the name of a header that holds no credential, or nothing",
    lambda name: (
        not name
        or (
            re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}", name) is not None
            and name.lower()
            not in {
                "authorization",
                "x-api-key",
                "cookie",
                "proxy-authorization",
                "x-transom-token",
            }
        )
    ),
)
FAMILY: Final = choice("anthropic", "openai", "ollama")
HEX: Final = pattern("64 hexadecimal digits", r"[0-9A-Fa-f]{64}")
LIMIT: Final = pair(whole(1, 100_000), float)
WORDS: Final = string("a text of one line", lambda text: bool(text) and text.isprintable())
