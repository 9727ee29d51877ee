"""A client's requests through a node that cuts them: each is held against what may leave.

Owns the comparison of a turn's requests with each other and with the client's own history. It must
not know how a cut is planned: it reads with `policies.turn_minimal` alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from policies.settings import Minimality
from policies.turn_minimal import allowlist, assert_turn_minimal
from tests.scenes.staging import Heard
from tests.strict.chain import bare, plain
from tests.strict.house import Change, House
from tests.strict.reading import result_texts


def showing(mode: str, strategy: str = "drop", cap: int = 0) -> Change:
    """Settings under which a turn shows so much."""
    settings = Minimality(mode, strategy, cap)  # type: ignore[arg-type]
    return lambda config: replace(config, policies=replace(config.policies, minimality=settings))


def listed(body: Mapping[str, Any]) -> list[Any]:
    """The messages or items of a body."""
    return body.get("messages", body.get("input", []))


@dataclass
class Turns:
    """Posts through a `house` whose turns show what `mode` and `strategy` say. `removed` counts the
    requests that left with less than they came with; `seen` what the turn at hand has shown."""

    house: House
    mode: str
    strategy: str = "drop"
    removed: int = 0
    told: int = 0
    _asked: bytes = b""
    _shown: list[bytes] = field(default_factory=list)

    async def post(self, path: str, body: dict[str, Any], headers: Mapping[str, str]) -> Heard:
        """A request, held against the turn and against the one before it."""
        answer = await self.house.through(path, body, headers)
        if answer.status == 200:
            self.saw(body, self.house.newest)
        return answer

    def saw(self, came: dict[str, Any], sent: dict[str, Any]) -> None:
        """What arrived is minimal, and goes on from what the turn has shown before."""
        allowed = allowlist(came, self.mode, self.strategy)
        assert_turn_minimal(sent, allowed)
        theirs, shown = listed(came), [plain(bare(_told(each))) for each in listed(sent)]
        earlier = theirs[: len(theirs) - allowed.rest]
        self.removed += [*_strings(theirs)] != [*_strings(listed(sent))] and bool(earlier)
        self.told += b"[dropped history" in plain(sent)
        asked = plain(bare([_told(each) for each in [*earlier, *_request(theirs[len(earlier) :])]]))
        if asked == self._asked and len(shown) > len(self._shown):
            assert shown[: len(self._shown)] == self._shown, "the view of a turn has changed"
        self._asked, self._shown = asked, shown
        arrived = "\0".join(_strings(listed(sent)))
        mine = set(result_texts({"messages": theirs[len(earlier) :]}))
        for text in {*result_texts({"messages": earlier})} - mine:
            assert self.mode == "off" or text not in arrived, "a result of another turn"


def _request(turn: list[Any]) -> list[Any]:
    """What a turn begins with, before the model says anything."""
    spoken = (n for n, each in enumerate(turn) if each.get("role") not in ("user", "system"))
    return turn[: next(spoken, len(turn))]


def _told(message: dict[str, Any]) -> dict[str, Any]:
    """A message as a model reads it: a string is one block; ids of items do not count."""
    loose = ("id", "status", "internal_chat_message_metadata_passthrough")
    kept = {key: value for key, value in message.items() if key not in loose}
    if isinstance(kept.get("content"), str) and "type" not in kept:
        kept["content"] = [{"type": "text", "text": kept["content"]}]
    return kept


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
