"""An independent reader of the finished body: only what it has accounted for may leave.

Owns the proof that every value of the outbound body was screened, framed as claimed, or written by
Transom itself, and the one type that the outbound door takes. It shares no code with what it
checks: own JSON reading, own idea of a frame, no dialect. It must not repair anything.
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, NoReturn, final

from policies import proof_json as own
from policies.decision import Claimed, Screened

_LISTS = ("messages", "input")
_SYSTEM = ("system", "instructions")
_WRAPPING = frozenset({"type", "text", "role", "content", "message", "input_text"})
_ROLES = frozenset({"system", "developer"})
_REMOVED = "transom-data-marker-removed"
_STEM = "transom_data"
_LONGEST_STEM = 2048
_STEPS = 1 << 18
_FRAME = re.compile(
    r"\A(?:\[Data envelope \(code-owned\)\]: this message's nonce is (?P<intro>[0-9a-f]{32})\.\n)?"
    r"\[\[TRANSOM_DATA nonce=(?P<nonce>[0-9a-f]{32}) field=(?P<field>[A-Za-z0-9_.:-]{1,48})\]\]\n"
    r"(?P<content>.*)\n\[\[END_TRANSOM_DATA nonce=(?P=nonce)\]\]\Z",
    re.DOTALL,
)
_TOKEN: Final = object()
_SHOWN = frozenset({"messages", "input", "system", "instructions", "tools", "model", "metadata"})


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
        screened = own.digest(b"member:" + key.encode() + b"\0", came) in self.digests
        if screened and came == sent:
            return
        if key in _LISTS and not screened and came[:1] == sent[:1] == b"[":
            self.messages(key, own.elements(came), own.elements(sent))
            return
        if not screened:
            raise ProofFailed(_shown(key))
        at = _shown(key)
        before, after = _parsed(came, at), _parsed(sent, at)
        if not (key in _SYSTEM and self.system(before, after)):
            self.same(before, after, at)

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
            if own.digest(b"message\0", expected) not in self.digests:
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
            case str(), str() if type(came) is type(sent) is str:
                if came != sent and not self.framed(came, sent):
                    self.inside(came, sent, at)
            case _:
                # Numbers are kept as their own tokens: 1.0 is not 1, and -0 is not 0.
                if type(came) is not type(sent) or came != sent:
                    raise ProofFailed(at)

    def elements(self, came: list[object], sent: list[object], at: str) -> None:
        met = 0
        for number, value in enumerate(sent):
            if met < len(came) and own.identical(value, came[met]):
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


def _shown(key: str) -> str:
    return key if key in _SHOWN else "*"


def _inner(key: str) -> str:
    return key if key in _WRAPPING or key in _SHOWN else "*"


def _members(body: bytes) -> own.Members:
    try:
        return own.members(body)
    except (ValueError, RecursionError):
        raise ProofFailed("") from None


def _parsed(raw: bytes, at: str) -> object:
    try:
        return own.parsed(raw)
    except (ValueError, RecursionError):
        raise ProofFailed(at) from None


def _neutralised(text: str, content: str) -> bool:
    """`content` is `text`, but for spans that spelled the stem and were replaced.

    Own rule: what was taken out has at least as many letters as a stem folded tightly. Where each
    span ends is searched for, because the text between may repeat; text made to have very many
    answers has none.
    """
    if _STEM in content.casefold():
        return False
    if content == text:
        return True
    first, *rest = content.split(_REMOVED)
    ends = {len(first)} if text.startswith(first) else set()
    steps = 0
    for part in rest:
        tries = {end + len(_REMOVED) for end in ends if text.startswith(_REMOVED, end)}
        for start in ends:
            found, cost = _after_stem(text, start)
            tries.update(found)
            steps += cost
            if steps > _STEPS:
                return False
        ends = {end + len(part) for end in tries if text.startswith(part, end)}
    return len(text) in ends


def _after_stem(text: str, start: int) -> tuple[list[int], int]:
    """Where a stem that begins at `start` may end, and how many characters that took. Written with
    escapes, a letter takes several."""
    found: list[int] = []
    letters, most = 0, 16
    at = start
    for at in range(start, min(len(text), start + _LONGEST_STEM)):
        most = 1024 if text[at] == "\\" else most
        folded = unicodedata.normalize("NFKD", text[at])
        letters += sum(unicodedata.category(char)[0] in "LNPS" for char in folded)
        if letters > most:
            break
        if letters >= 8:
            found.append(at + 1)
    return found, at - start + 1
