"""What the bytes at the upstream's socket say: results, frames, traces of a key.

Owns the reading of evidence. It shares no code with the relay on purpose: own idea of where a
result stands and of how a frame looks.
"""

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from proxy.demo.files import key, nsec
from proxy.demo.vendors.plan import JSON, is_object, objects, text_of

REMOVED: Final = "transom-data-marker-removed"
_STEM = re.compile("transom_data", re.IGNORECASE)
_FRAME = re.compile(
    r"(?:\[Data envelope \(code-owned\)\]: this message's nonce is (?P<intro>[0-9a-f]{32})\.\n)?"
    r"\[\[TRANSOM_DATA nonce=(?P<nonce>[0-9a-f]{32}) field=(?P<field>[A-Za-z0-9_.:-]{1,48})\]\]\n"
    r"(?P<content>.*)\n\[\[END_TRANSOM_DATA nonce=(?P=nonce)\]\]",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Framed:
    """A tool result that stands in one frame. `announced` is the nonce of the intro line."""

    nonce: str
    field: str
    content: str
    announced: str


def history(body: bytes) -> list[JSON]:
    """The messages, or the input items, of a recorded request; none where it cannot be read."""
    try:
        value = json.loads(body)
    except ValueError:
        return []
    if not is_object(value):
        return []
    return objects(value.get("messages")) or objects(value.get("input"))


def results(body: bytes) -> list[str]:
    """The text of every tool result in a recorded request of any dialect, in order."""
    found: list[str] = []
    for message in history(body):
        if message.get("role") == "tool":
            found.append(text_of(message.get("content")))
        elif message.get("type") == "function_call_output":
            found.append(text_of(message.get("output"), "input_text"))
        else:
            blocks = objects(message.get("content"))
            found += [text_of(b.get("content")) for b in blocks if b.get("type") == "tool_result"]
    return found


def framed(result: str) -> Framed | None:
    """The frame that holds all of `result`; None where there is none, or something outside it, or
    a mark inside it."""
    match = _FRAME.fullmatch(result)
    if match is None or _STEM.search(match["content"]):
        return None
    return Framed(match["nonce"], match["field"], match["content"], match["intro"] or "")


def neutral(text: str) -> str:
    """The text as it should stand inside a frame."""
    return _STEM.sub(REMOVED, text)


def marks(raw: bytes) -> tuple[int, int]:
    """How many opening and closing marks there are in raw bytes."""
    return raw.count(b"[[TRANSOM_DATA nonce="), raw.count(b"[[END_TRANSOM_DATA nonce=")


def traces(raw: bytes) -> list[str]:
    """Under which names the key of the demo is found in raw bytes; never the key itself."""
    lowered = raw.lower()
    return [name for name, form in _forms() if form.lower() in lowered]


def _forms() -> Iterable[tuple[str, bytes]]:
    text = nsec().encode()
    for what, secret in (("key", text), ("key bytes", key())):
        yield f"{what}, raw", secret
        yield f"{what}, hex", secret.hex().encode()
        yield f"{what}, percent", "".join(f"%{byte:02x}" for byte in secret).encode()
        for skip in range(3):
            # Any alignment of the secret in a longer base64 text keeps its inner characters.
            inner = base64.b64encode(secret[skip:])[: (len(secret) - skip) // 3 * 4]
            yield f"{what}, base64 ({skip})", inner
            yield f"{what}, base64url ({skip})", inner.translate(bytes.maketrans(b"+/", b"-_"))
    yield r"key, \u escapes", "".join(f"\\u{byte:04x}" for byte in text).encode()
    yield "key, reversed", text[::-1]
