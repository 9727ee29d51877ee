"""An independent reader of the finished body: only what it has accounted for may leave.

Owns the proof that every value of the outbound body was screened, framed as claimed, or written by
Transom itself, and the one type that the outbound door takes. It shares no code with what it
checks: own JSON reading, own idea of a frame, no dialect. It must not repair anything.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, NoReturn, final

import msgspec

from policies.decision import Claimed, Screened

_WHITE = b" \t\n\r"
_LISTS = ("messages", "input")
_SYSTEM = ("system", "instructions")
_WRAPPING = frozenset({"type", "text", "role", "content", "message", "input_text"})
_ROLES = frozenset({"system", "developer"})
_REMOVED = "transom-data-marker-removed"
_STEM = "transom_data"
_FRAME = re.compile(
    r"\A(?:\[Data envelope \(code-owned\)\]: this message's nonce is (?P<intro>[0-9a-f]{32})\.\n)?"
    r"\[\[TRANSOM_DATA nonce=(?P<nonce>[0-9a-f]{32}) field=(?P<field>[A-Za-z0-9_.:-]{1,48})\]\]\n"
    r"(?P<content>.*)\n\[\[END_TRANSOM_DATA nonce=(?P=nonce)\]\]\Z",
    re.DOTALL,
)
_TOKEN: Final = object()
_SHOWN = frozenset({"messages", "input", "system", "instructions", "tools", "model", "metadata"})

Came = tuple[tuple[str, bytes], ...]


class ProofFailed(Exception):
    """The finished body holds something that was not accounted for. `place` is safe to show."""

    def __init__(self, place: str) -> None:
        super().__init__(f"not accounted for: {place or 'the body'}")
        self.place = place


@final
class Cleared:
    """A body that may leave for a cloud. `reason` is empty for a proven one, else why it went
    unread. Only this module makes them."""

    __slots__ = ("body", "reason")
    body: bytes
    reason: str

    def __init__(self, token: object, body: bytes, reason: str) -> None:
        # SECURITY: the token is private to this module; no other code can clear a body.
        if token is not _TOKEN:
            raise TypeError("a body is cleared by the proof alone")
        object.__setattr__(self, "body", body)
        object.__setattr__(self, "reason", reason)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a cleared body is never changed")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a cleared body is never copied")

    def __repr__(self) -> str:
        return f"Cleared({len(self.body)} bytes{', unread' if self.reason else ''})"


def nothing_to_prove() -> Cleared:
    """For a request without a body."""
    return Cleared(_TOKEN, b"", "")


def unread(body: bytes, reason: str) -> Cleared:
    """For an endpoint that the owner opened in so many words; `reason` names the setting."""
    if not reason:
        raise ValueError("a body that nobody read needs a reason")
    return Cleared(_TOKEN, body, reason)


def prove(
    body: bytes,
    *,
    client_body: bytes,
    screened: Screened,
    texts: Mapping[int, str],
    claimed: Claimed,
    authored: Container[str],
) -> Cleared:
    """Check `body` against what the client sent and what was decided; the only way to `Cleared`.

    Every top-level member and message of `client_body` must stand in `body`, in order, either byte
    for byte or with strings put into the frames of `claimed` (unit number → row; `texts` holds the
    units' texts) and nothing else changed; beside them only `authored` texts. Each must have a
    digest in `screened`: SHA-256 over `member:<key>\\0` or `message\\0` and its bytes. Every
    claimed frame must be there. Raises `ProofFailed` with the place that is not accounted for.
    """
    _Proof(screened, texts, claimed, authored).bodies(client_body, body)
    return Cleared(_TOKEN, body, "")


class _Proof:
    """One check: what may stand in the body, and which frames were not met yet."""

    def __init__(
        self,
        screened: Screened,
        texts: Mapping[int, str],
        claimed: Claimed,
        authored: Container[str],
    ) -> None:
        self.digests = screened.digests
        self.texts = texts
        self.authored = authored
        self.open = dict(claimed.rows)

    def bodies(self, came_body: bytes, sent_body: bytes) -> None:
        came, sent = _members(came_body), _members(sent_body)
        met = 0
        for key, raw in sent:
            if met < len(came) and came[met][0] == key:
                self.member(key, came[met][1], raw)
                met += 1
            elif key not in _SYSTEM or not self.is_authored(_parsed(raw, key)):
                raise ProofFailed(_shown(key))
        if met < len(came):
            raise ProofFailed(_shown(came[met][0]))
        if self.open:
            raise ProofFailed("a frame that was claimed")

    def member(self, key: str, came: bytes, sent: bytes) -> None:
        screened = _digest(b"member:" + key.encode() + b"\0", came) in self.digests
        if screened and came == sent:
            return
        if key in _LISTS and not screened and came[:1] == sent[:1] == b"[":
            self.messages(key, _elements(came, key), _elements(sent, key))
            return
        if not screened:
            raise ProofFailed(_shown(key))
        before, after = _parsed(came, key), _parsed(sent, key)
        if not (key in _SYSTEM and self.system(before, after)):
            self.same(before, after, key)

    def messages(self, key: str, came: Sequence[bytes], sent: Sequence[bytes]) -> None:
        met = 0
        for number, raw in enumerate(sent):
            at = f"{key}[{number}]"
            expected = came[met] if met < len(came) else b""
            if raw != expected:
                value = _parsed(raw, at)
                if self.is_authored(value):
                    continue
                if met == len(came):
                    raise ProofFailed(at)
                self.same(_parsed(expected, at), value, at)
            if _digest(b"message\0", expected) not in self.digests:
                raise ProofFailed(at)
            met += 1
        if met < len(came):
            raise ProofFailed(f"{key}[{met}]")

    def system(self, came: object, sent: object) -> bool:
        """System text with authored text after it, in one of the ways that dialects allow."""
        match came, sent:
            case None, _:
                return self.is_authored(sent)
            case str(), str():
                head = f"{came}\n\n" if came else ""
                return sent.startswith(head) and sent[len(head) :] in self.authored
            case str(), [first, *rest]:
                return first == {"type": "text", "text": came} and self.is_authored(rest)
            case _:
                return False

    def same(self, came: object, sent: object, at: str) -> None:
        """`sent` is `came` but for frames and inserted authored values; else `ProofFailed`."""
        match came, sent:
            case dict(), dict():
                if list(came) != list(sent):
                    raise ProofFailed(at)
                for (key, before), after in zip(came.items(), sent.values(), strict=True):
                    self.same(before, after, f"{at}.{_inner(key)}")
            case list(), list():
                self.elements(came, sent, at)
            case str(), str() if type(came) is type(sent):
                if came != sent and not self.framed(came, sent):
                    self.inside(came, sent, at)
            case _:
                # Numbers are kept as their own tokens: 1.0 is not 1, and -0 is not 0.
                if type(came) is not type(sent) or came != sent:
                    raise ProofFailed(at)

    def elements(self, came: list[object], sent: list[object], at: str) -> None:
        met = 0
        for number, value in enumerate(sent):
            if met < len(came) and _identical(value, came[met]):
                met += 1
            elif not self.is_authored(value):
                if met == len(came):
                    raise ProofFailed(f"{at}[{number}]")
                self.same(came[met], value, f"{at}[{number}]")
                met += 1
        if met < len(came):
            raise ProofFailed(f"{at}[{met}]")

    def framed(self, came: str, sent: str) -> bool:
        """`sent` is a frame around `came` that was claimed and not met before; it is met now."""
        frame = _FRAME.match(sent)
        if frame is None or frame["intro"] not in (None, frame["nonce"]):
            return False
        for number, row in self.open.items():
            if (
                row.nonce == frame["nonce"]
                and row.field == frame["field"]
                and row.intro == (frame["intro"] is not None)
                and self.texts.get(number) == came
                and row.nonce not in came
                and _neutralised(came, frame["content"])
            ):
                del self.open[number]
                return True
        return False

    def inside(self, came: str, sent: str, at: str) -> None:
        """Strings that are JSON objects themselves: the same rule for their leaves."""
        if not came.lstrip().startswith("{"):
            raise ProofFailed(at)
        before, after = _parsed(came.encode(), at), _parsed(sent.encode(), at)
        self.same(before, after, at)

    def is_authored(self, value: object) -> bool:
        """Every text in it is one of ours, and there is at least one."""
        texts = list(_leaves(value))
        return any(text in self.authored for text in texts) and all(
            text in self.authored or text in _WRAPPING or text in _ROLES for text in texts
        )


def _leaves(value: object) -> Iterable[str]:
    """Strings and keys of a value; anything else becomes a text that nobody wrote."""
    match value:
        case dict():
            for key, inner in value.items():
                yield key
                yield from _leaves(inner)
        case list():
            for inner in value:
                yield from _leaves(inner)
        case str() if type(value) is str:
            yield value
        case _:
            yield "\0"


class _Number(str):
    """A number or literal as it was written."""

    __slots__ = ()


def _identical(one: object, two: object) -> bool:
    if type(one) is not type(two):
        return False
    match one, two:
        case dict(), dict():
            return list(one) == list(two) and all(
                _identical(value, two[key]) for key, value in one.items()
            )
        case list(), list():
            return len(one) == len(two) and all(map(_identical, one, two))
        case _:
            return one == two


def _digest(salt: bytes, raw: bytes) -> bytes:
    return hashlib.sha256(salt + raw).digest()


def _shown(key: str) -> str:
    return key if key in _SHOWN else "*"


def _inner(key: str) -> str:
    return key if key in _WRAPPING or key in _SHOWN else "*"


def _refuse_constant(token: str) -> NoReturn:
    raise ValueError(token)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs) or len({key.casefold() for key in members}) != len(pairs):
        raise ValueError("a key stands twice")
    return members


_READER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=_Number,
    parse_int=_Number,
    parse_constant=_refuse_constant,
)


def _parsed(raw: bytes, at: str) -> object:
    try:
        return _READER.decode(raw.decode())
    except (ValueError, RecursionError):
        raise ProofFailed(at) from None


def _elements(raw: bytes, key: str) -> list[bytes]:
    try:
        return [bytes(item) for item in msgspec.json.decode(raw, type=list[msgspec.Raw])]
    except (ValueError, RecursionError):
        raise ProofFailed(_shown(key)) from None


def _members(body: bytes) -> Came:
    """Key and exact bytes of every top-level member, in order; duplicates refused."""
    try:
        text = body.decode()
        quick = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        members = tuple((key, bytes(raw)) for key, raw in quick.items())
        # The fast reader passes over a key that stands twice. Built again from what it gave, the
        # body must come out as it was; where white space or escapes forbid that, read it slowly.
        if not _rebuilds(members, body.strip(_WHITE)):
            members = tuple(_slowly(text))
        if len({key.casefold() for key, _ in members}) != len(members):
            raise ProofFailed("")
    except (ValueError, RecursionError):
        raise ProofFailed("") from None
    return members


def _rebuilds(members: Came, body: bytes) -> bool:
    return any(
        b"{" + comma.join(b'"%b"%b%b' % (k.encode(), colon, raw) for k, raw in members) + b"}"
        == body
        for comma, colon in ((b",", b":"), (b", ", b": "))
    )


def _slowly(text: str) -> Iterable[tuple[str, bytes]]:
    at = _skip(text, 0) + 1
    while text[_skip(text, at)] != "}":
        key, at = _READER.raw_decode(text, _skip(text, at))
        start = _skip(text, _skip(text, at) + 1)
        _, at = _READER.raw_decode(text, start)
        yield str(key), text[start:at].encode()
        at = _skip(text, at)
        at += text[at] == ","


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\n\r":
        at += 1
    return at


def _neutralised(text: str, content: str) -> bool:
    """`content` is `text`, but for spans that spelled the stem and were replaced.

    Own rule: what was taken out has the letters of a stem and not much more. Where each span ends
    is searched for, because the text between may repeat; the set of ends stays small.
    """
    if _STEM in content.casefold():
        return False
    if content == text:
        return True
    first, *rest = content.split(_REMOVED)
    if not text.startswith(first):
        return False
    ends = {len(first)}
    for number, part in enumerate(rest):
        last = number == len(rest) - 1
        ends = {
            end + len(part)
            for start in ends
            for end in _ends_of_stem(text, start)
            if text.startswith(part, end) and (not last or end + len(part) == len(text))
        } | (
            {
                end + len(_REMOVED) + len(part)
                for end in ends
                if text.startswith(_REMOVED + part, end)
                and (not last or end + len(_REMOVED) + len(part) == len(text))
            }
        )
    return bool(ends)


def _ends_of_stem(text: str, start: int) -> Iterable[int]:
    letters = 0
    for end in range(start, min(len(text), start + 400)):
        folded = unicodedata.normalize("NFKD", text[end])
        letters += sum(unicodedata.category(c)[0] in "LNPS" for c in folded)
        if letters > len(_STEM) + 2:
            return
        if letters >= len(_STEM) - 1:
            yield end + 1
