"""What is sent to each route of the table, and the ways in which a request can be spoiled.

A route that is not refused by default has a body of its own here, a refused one the body of its
group. Whoever adds a route adds a line; the census fails without.
"""

import gzip
import json
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from proxy.endpoints import Endpoint, Treatment

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHAT = {"model": "m-1", "messages": [{"role": "user", "content": "What is a transom?"}]}
INPUT = {"model": "m-1", "input": "What is a transom?"}
PROMPT = {"model": "m-1", "prompt": "What is a transom?"}
NOTHING = None

OPEN: dict[tuple[str, str, str], dict[str, object] | None] = {
    ("anthropic", "POST", "/v1/messages"): {**CHAT, "max_tokens": 10},
    ("anthropic", "POST", "/v1/messages/count_tokens"): CHAT,
    ("anthropic", "GET", "/v1/models"): NOTHING,
    ("anthropic", "GET", "/v1/models/{model}"): NOTHING,
    ("anthropic", "HEAD", "/"): NOTHING,
    ("anthropic", "HEAD", "/api/hello"): NOTHING,
    ("openai", "POST", "/v1/chat/completions"): CHAT,
    ("openai", "POST", "/v1/responses"): INPUT,
    ("openai", "POST", "/v1/responses/compact"): INPUT,
    ("openai", "POST", "/v1/responses/input_tokens"): INPUT,
    ("openai", "POST", "/v1/completions"): PROMPT,
    ("openai", "POST", "/v1/embeddings"): INPUT,
    ("openai", "POST", "/v1/moderations"): INPUT,
    ("openai", "GET", "/v1/models"): NOTHING,
    ("openai", "GET", "/v1/models/{model}"): NOTHING,
    ("openai", "GET", "/v1/chat/completions"): NOTHING,
    ("openai", "GET", "/v1/chat/completions/{id}"): NOTHING,
    ("openai", "GET", "/v1/chat/completions/{id}/messages"): NOTHING,
    ("openai", "GET", "/v1/responses/{id}"): NOTHING,
    ("openai", "GET", "/v1/responses/{id}/input_items"): NOTHING,
    ("openai", "POST", "/v1/responses/{id}/cancel"): NOTHING,
    ("openai", "GET", "/v1/conversations/{id}"): NOTHING,
    ("openai", "GET", "/v1/conversations/{id}/items"): NOTHING,
    ("openai", "GET", "/v1/conversations/{id}/items/{id}"): NOTHING,
    ("ollama", "POST", "/api/chat"): CHAT,
    ("ollama", "POST", "/api/generate"): PROMPT,
    ("ollama", "POST", "/api/embed"): INPUT,
    ("ollama", "POST", "/api/embeddings"): PROMPT,
    ("ollama", "POST", "/api/show"): {"model": "m-1"},
    ("ollama", "GET", "/"): NOTHING,
    ("ollama", "HEAD", "/"): NOTHING,
    ("ollama", "GET", "/api/tags"): NOTHING,
    ("ollama", "HEAD", "/api/tags"): NOTHING,
    ("ollama", "GET", "/api/ps"): NOTHING,
    ("ollama", "GET", "/api/version"): NOTHING,
    ("ollama", "HEAD", "/api/version"): NOTHING,
    ("", "GET", "/healthz"): NOTHING,
    ("", "HEAD", "/healthz"): NOTHING,
}

CLOSED: dict[str, dict[str, object]] = {
    "agents": {"name": "a"},
    "assistants": {"model": "m-1"},
    "audio": {"model": "m-1", "input": "Read this aloud."},
    "batches": {"requests": [{"custom_id": "one", "params": CHAT}]},
    "containers": {"name": "c"},
    "deployments": {"name": "d"},
    "dreams": {"instructions": "Tidy up."},
    "environments": {"name": "e"},
    "evals": {"name": "e"},
    "files": {"purpose": "batch"},
    "fine-tuning": {"model": "m-1", "training_file": "file-1"},
    "images": PROMPT,
    "memory-stores": {"content": "He likes tea."},
    "ollama-account": {"name": "n"},
    "ollama-admin": {"model": "m-1"},
    "ollama-web": {"query": "What is a transom?"},
    "organization": {"name": "o"},
    "realtime": {"session": {"type": "realtime"}},
    "sessions": {"agent": "agent_1"},
    "skills": {"display_title": "s"},
    "stored": {"metadata": {"topic": "tea"}},
    "tunnels": {"name": "t"},
    "user-profiles": {"external_id": "u"},
    "vaults": {"display_name": "v"},
    "vector-stores": {"name": "v"},
    "videos": PROMPT,
}

FILLED = {
    "{id}": "id_1",
    "{model}": "maker%2Fm-1%3Alatest",
    "{rest}": "one/two",
    "{digest}": "sha256:" + "0" * 64,
}
SENT = {**FILLED, "{model}": "maker%2Fm-1:latest"}
"""What the upstream sees in place of each: ids are decoded, checked and encoded anew."""


@dataclass(frozen=True)
class Case:
    """A request, as it will be written on the wire."""

    method: str
    target: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    def wire(self, port: int) -> bytes:
        fields = {"Host": f"127.0.0.1:{port}", **self.headers, "Connection": "close"}
        if self.body or "Content-Encoding" in self.headers:
            fields |= {"Content-Length": str(len(self.body)), "Content-Type": "application/json"}
        lines = [f"{self.method} {self.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields.items() if value is not None]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


def filled(path: str, values: dict[str, str]) -> str:
    for place, value in values.items():
        path = path.replace(place, value)
    return path


def case_for(row: Endpoint) -> Case:
    """The plain, fitting request for a row. `KeyError` where nobody has written one."""
    known = CLOSED[row.group] if row.group else OPEN[row.family, row.method, row.path]
    takes = known is not None and (row.method == "POST" or not row.group)
    headers = {"anthropic-version": "2023-06-01"} if row.family == "anthropic" else {}
    body = json.dumps(known).encode() if takes else b""
    return Case(row.method, filled(row.path, FILLED), body, headers)


def coded(case: Case, coding: str, body: bytes) -> Case:
    return Case(case.method, case.target, body, {**case.headers, "Content-Encoding": coding})


Spoil = Callable[[Case], Case]

GOOD_CODINGS: dict[str, Spoil] = {
    "identity": lambda case: coded(case, "identity", case.body),
    "gzip": lambda case: coded(case, "gzip", gzip.compress(case.body)),
    "GZIP": lambda case: coded(case, "GZIP", gzip.compress(case.body)),
    "deflate": lambda case: coded(case, "deflate", zlib.compress(case.body)),
    "zstd": lambda case: coded(case, "zstd", zstd.compress(case.body)),
    "multi-member": lambda case: coded(
        case, "gzip", gzip.compress(case.body[:5]) + gzip.compress(case.body[5:])
    ),
    "multi-frame": lambda case: coded(
        case, "zstd", zstd.compress(case.body[:5]) + zstd.compress(case.body[5:])
    ),
}
"""Codings that are undone; the body goes on decoded."""

BAD_CODINGS: dict[str, Spoil] = {
    "gzip, trailing": lambda case: coded(case, "gzip", gzip.compress(case.body) + b"x"),
    "deflate, trailing": lambda case: coded(case, "deflate", zlib.compress(case.body) + b"x"),
    "zstd, trailing": lambda case: coded(case, "zstd", zstd.compress(case.body) + b"x"),
    "gzip, cut": lambda case: coded(case, "gzip", gzip.compress(case.body)[:-1]),
    "zstd, cut": lambda case: coded(case, "zstd", zstd.compress(case.body)[:-1]),
    "br": lambda case: coded(case, "br", b"\x0b\x02\x80{}\x03"),
    "stacked": lambda case: coded(case, "gzip, gzip", gzip.compress(gzip.compress(case.body))),
    "unknown": lambda case: coded(case, "pack200-gzip", case.body),
    "mislabelled": lambda case: coded(case, "gzip", zstd.compress(case.body)),
    "unlabelled": lambda case: Case(
        case.method, case.target, gzip.compress(case.body), case.headers
    ),
}
"""Codings that nobody can undo for certain."""


def retargeted(change: Callable[[str], str]) -> Spoil:
    return lambda case: Case(case.method, change(case.target), case.body, case.headers)


def with_header(name: str, value: str | None) -> Spoil:
    return lambda case: Case(case.method, case.target, case.body, {**case.headers, name: value})


def _at_last(target: str, joint: str) -> str:
    head, _, tail = target.rpartition("/")
    return f"{head}{joint}{tail}"


SPOILS: dict[str, Spoil] = {
    "encoded slash": retargeted(lambda target: "/%2F" + target[1:]),
    "encoded last slash": retargeted(lambda target: _at_last(target, "%2F")),
    "double slash": retargeted(lambda target: _at_last(target, "//")),
    "leading double slash": retargeted(lambda target: "/" + target),
    "dot segment": retargeted(lambda target: _at_last(target, "/./")),
    "two dots": retargeted(lambda target: "/x/.." + target),
    "two dots at the end": retargeted(lambda target: target + "/x/.."),
    "encoded dots": retargeted(lambda target: "/x/%2e%2e" + target),
    "trailing slash": retargeted(lambda target: target + "/"),
    "upper case": retargeted(lambda target: target.upper() + ("X" if target == "/" else "")),
    "absolute form": retargeted(lambda target: "http://127.0.0.1" + target),
    "absolute form elsewhere": retargeted(lambda target: "http://example.org" + target),
    "backslash": retargeted(lambda target: _at_last(target, "\\")),
    "parameter": retargeted(lambda target: target + ";x=1"),
    "fragment": retargeted(lambda target: target + "#x"),
    "encoded letter": retargeted(lambda target: target + "%61"),
    "null byte": retargeted(lambda target: target + "%00"),
    "odd query": retargeted(lambda target: target + "?a=%0d%0a"),
    "CONNECT": lambda case: Case("CONNECT", "127.0.0.1:443", case.body, case.headers),
    "CONNECT a path": lambda case: Case("CONNECT", case.target, case.body, case.headers),
    "another method": lambda case: Case("PROPFIND", case.target, case.body, case.headers),
    "foreign Host": with_header("Host", "example.org"),
    "no Host": with_header("Host", None),
    "foreign Origin": with_header("Origin", "https://example.org"),
    "null Origin": with_header("Origin", "null"),
    "cross-site": with_header("Sec-Fetch-Site", "cross-site"),
    "WebSocket": with_header("Upgrade", "websocket"),
    "two lengths": lambda case: replace(
        case, headers={**case.headers, "content-length": "0", "CONTENT-LENGTH": "0"}
    ),
    "length and chunks": with_header("Transfer-Encoding", "chunked, chunked"),
}
"""Requests that must go nowhere, whatever the row."""


def takes_body(row: Endpoint) -> bool:
    return row.treatment not in (Treatment.CONTROL, Treatment.INTERNAL)
