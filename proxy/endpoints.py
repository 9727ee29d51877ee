"""Which endpoint a request means: one table, matched against the raw path.

Owns matching, the path that goes upstream, and the words that name the right address. It must not
know a body, a client or an upstream. Header names are lower-case throughout.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from proxy.endpoint_table import GROUPS, TABLE, Endpoint, Treatment
from proxy.errors import Refused

__all__ = ["GROUPS", "TABLE", "Endpoint", "Match", "Treatment", "match", "nearest"]

QUERY_LENGTH: Final = 1024
"""Longest query string that is passed on, in characters."""

_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,199}")
_DIGEST: Final = re.compile(r"sha256[:-][0-9a-f]{64}")
_MODEL: Final = re.compile(r"[A-Za-z0-9@][A-Za-z0-9_.:@+\-]*(?:/[A-Za-z0-9@][A-Za-z0-9_.:@+\-]*)*")
_MODEL_LENGTH: Final = 200
_QUERY: Final = re.compile(r"(?:[A-Za-z0-9\-._~=&\[\],:+@/]|%[2-7][0-9A-Fa-f])*")
_ENCODED: Final = {"%2f": "/", "%3a": ":"}
_TAIL_WORDS: Final = (
    ("responses", "openai_responses"),
    ("messages", "anthropic_messages"),
    ("completions", "openai_chat"),
    ("anthropic", "anthropic_messages"),
    ("openai", "openai_chat"),
    ("api", "ollama_chat"),
)


@dataclass(frozen=True, slots=True)
class Match:
    """A request's endpoint. `path` is the table's, ids filled in; `query` is without `?`.

    `forgiven`: the client wrote `/v1` twice. An endpoint whose treatment is `REFUSED` is here only
    because the owner opened its group.
    """

    endpoint: Endpoint
    path: str
    query: str = ""
    forgiven: bool = False


def match(method: str, target: str, headers: Mapping[str, str], opened: frozenset[str]) -> Match:
    """The endpoint that `method` and the raw `target` (path and query, as on the wire) mean.

    Where two families share an address, the headers decide. Raises `Refused`: `unknown-endpoint`
    with the right address, `endpoint-refused` for a group that is not in `opened`, `door-refused`
    for an odd query string.
    """
    path, _, query = target.partition("?")
    forgiven = path.startswith("/v1/v1/")
    candidates = _find(method, path.removeprefix("/v1") if forgiven else path)
    if not candidates:
        raise Refused("unknown-endpoint", near=_near(path))
    endpoint, filled = _of_family(candidates, headers)
    if endpoint.treatment is Treatment.REFUSED and endpoint.group not in opened:
        raise Refused("endpoint-refused", endpoint=endpoint.path, group=endpoint.group)
    if len(query) > QUERY_LENGTH or not _QUERY.fullmatch(query):
        raise Refused("door-refused", reason="the query string holds what no endpoint needs")
    return Match(endpoint, filled, query, forgiven)


def nearest(target: str, headers: Mapping[str, str]) -> str:
    """The dialect in which an error about `target`, however odd, is best understood."""
    path = target.partition("?")[0]
    for method in ("POST", "GET", "HEAD"):
        if found := _find(method, path.removeprefix("/v1") if path.startswith("/v1/v1/") else path):
            return _of_family(found, headers)[0].dress
    words = re.split(r"[^a-z]+", path[:4096].lower())
    for word, dialect in _TAIL_WORDS:
        if word in words:
            return dialect
    return "anthropic_messages" if _speaks_anthropic(headers) else "openai_chat"


def _find(method: str, path: str) -> list[tuple[Endpoint, str]]:
    """Rows that fit, each with its path filled in; several where families share an address."""
    segments = path.split("/")
    if rows := _PLAIN.get((method, *segments)):
        return [(row, row.path) for row, _ in rows]
    found = []
    for row, pattern in _PATTERNED.get((method, *segments[:3]), ()):
        if (filled := _fill(pattern, segments)) is not None:
            found.append((row, filled))
    # A row that names more of the address beats one that takes anything below it.
    best = min((row.path.count("{rest}") for row, _ in found), default=0)
    return [(row, filled) for row, filled in found if row.path.count("{rest}") == best]


def _fill(pattern: tuple[str, ...], segments: list[str]) -> str | None:
    """The table's path with what stands in `segments` at its places, or None if it does not fit."""
    if len(segments) < len(pattern):
        return None
    if pattern[-1] not in ("{model}", "{rest}") and len(segments) > len(pattern):
        return None
    filled = []
    for place, part in enumerate(pattern):
        value = _value(part, segments[place:])
        if value is None:
            return None
        filled.append(value)
    # SECURITY: the upstream gets this, built from checked values, never the client's own path.
    return "/".join(filled)


def _value(part: str, segments: list[str]) -> str | None:
    """What is written for `part` of a pattern that stands at the head of `segments`."""
    match part:
        case "{model}":
            return _model("/".join(segments))
        case "{rest}":
            return "/".join(segments) if all(map(_ID.fullmatch, segments)) else None
        case "{id}":
            return segments[0] if _ID.fullmatch(segments[0]) else None
        case "{digest}":
            return segments[0] if _DIGEST.fullmatch(segments[0]) else None
        case _:
            return part if segments[0] == part else None


def _model(raw: str) -> str | None:
    """A model id, decoded, checked and encoded anew: `/` as `%2F`, `:` as it is."""
    plain = re.sub("%2[Ff]|%3[Aa]", lambda hit: _ENCODED[hit[0].lower()], raw)
    if len(plain) > _MODEL_LENGTH or not _MODEL.fullmatch(plain):
        return None
    return plain.replace("/", "%2F")


def _of_family(
    candidates: list[tuple[Endpoint, str]], headers: Mapping[str, str]
) -> tuple[Endpoint, str]:
    """`/v1/models`, `/v1/files`, `HEAD /` and a few more are Anthropic's and somebody else's."""
    if len(candidates) == 1:
        return candidates[0]
    wanted = _speaks_anthropic(headers)
    for candidate in candidates:
        if (candidate[0].family == "anthropic") is wanted:
            return candidate
    return candidates[0]


def _speaks_anthropic(headers: Mapping[str, str]) -> bool:
    """Its SDKs always send `anthropic-version`; Claude Code's start-up probe only a user agent. Who
    sends no more than a key has it in the header of its vendor."""
    agent = headers.get("user-agent", "").lower()
    return (
        "anthropic-version" in headers
        or "anthropic-beta" in headers
        or agent.startswith(("claude-", "anthropic"))
        # SECURITY: a key of the one vendor must not go to the other.
        or ("x-api-key" in headers and "authorization" not in headers)
    )


def _near(path: str) -> str:
    """Words that name the right address for a wrong one; empty where none suggests itself."""
    plain = "/" + "/".join(part for part in path[:4096].lower().split("/") if part)
    best: Endpoint | None = None
    for row in TABLE:
        tail = row.path.removeprefix("/v1").removeprefix("/api")
        if row.treatment is Treatment.REFUSED or len(tail) < 2 or not plain.endswith(tail):
            continue
        if best is None or len(row.path) > len(best.path):
            best = row
    return f": the address is {best.method} {best.path}" if best else ""


Rows = tuple[tuple[Endpoint, tuple[str, ...]], ...]


def _grouped(rows: Iterable[Endpoint], parts: int | None) -> Mapping[tuple[str, ...], Rows]:
    """Rows with their split paths, by method and the first `parts` parts of the path (all: None).
    Splitting begins before the leading slash, so the first part is empty."""
    groups: dict[tuple[str, ...], Rows] = {}
    for row in rows:
        pattern = tuple(row.path.split("/"))
        key = (row.method, *pattern[:parts])
        groups[key] = (*groups.get(key, ()), (row, pattern))
    return groups


_PLAIN: Final = _grouped((row for row in TABLE if "{" not in row.path), None)
_PATTERNED: Final = _grouped((row for row in TABLE if "{" in row.path), 3)
"""Rows with places to fill in; there are none in the first three parts of a path."""
