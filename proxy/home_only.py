"""What was answered at home because it must not leave, and so must not leave later either.

Owns what is remembered of such answers, as keyed digests, and how a conversation is told that holds
one: by its session, by its beginning, or by lines that stand in an answer. Whoever is marked stays
at home until the owner releases the session. It must not know a dialect or who answers.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from policies.conversation import Conversation, Piece
from proxy.apart import Apart
from proxy.identity import conversation_id, home_id
from proxy.memory import Memory
from proxy.state.base import HomeStore

LEAST: Final = 8
"""Characters of the shortest line that is remembered."""

ENOUGH: Final = 40
"""Characters of different lines by which a text is known to repeat an answer. Fewer stand in any
text about the same subject."""

MOST: Final = 4_000
"""Lines of one answer that are remembered; its session and conversation are marked in any case."""

_KNOWN: Final = 65_536


class HomeOnly:
    """The marks of one node. `key`: the state key."""

    def __init__(self, store: HomeStore, key: bytes, apart: Apart) -> None:
        self._store = store
        self._key = key
        self._apart = apart
        # A text that was read before an answer was given does not repeat that answer.
        self._read: Memory[bytes, bool] = Memory(_KNOWN)
        self.any = False

    async def start(self) -> None:
        """Look whether there are marks at all. Raises `StateError`."""
        self.any = await self._store.marks() > 0

    async def hold(self, client: str, session: str, conversation: Conversation) -> None:
        """Mark a conversation and its session, before home is asked. Raises `StateError`."""
        self.any = True
        marks = [*self._whose(client, session, conversation), self._client(client)]
        await self._store.mark(marks, session)

    async def said(
        self, client: str, session: str, texts: Iterable[str], conversation: Conversation
    ) -> None:
        """Mark the lines of an answer to `conversation`, before its end is told; those that stand
        in the request are not the answer's own. `texts`: what it says, then what its calls are
        given. Raises `StateError`."""
        said, *given = map(_lines, texts)
        # A path or a command is no answer: they stand in every session about the same things.
        own = [said, *(lines for lines in given if sum(map(len, lines)) >= ENOUGH)]
        pieces = conversation.pieces
        size = sum(piece.size for piece in pieces)
        asked = await self._apart.run(size, _lines_in, pieces)
        # What an answer says in one line may be all that a summary repeats.
        alone = {line for lines in own if len(lines) == 1 for line in lines}
        lines = [line for each in own for line in each if line not in asked]
        marks = [self._line(client, line) for line in dict.fromkeys(lines[:MOST])]
        marks += [self._line(client, line, alone=True) for line in alone - asked]
        if marks:
            await self._store.mark(marks, session)

    async def holds(self, client: str, session: str, conversation: Conversation) -> bool:
        """Whether a conversation must not leave. Raises `StateError`."""
        whose, any_at_all = self._whose(client, session, conversation), self._client(client)
        found = await self._store.marked([*whose, any_at_all])
        if not found.isdisjoint(whose):
            return True
        return any_at_all in found and await self._repeats(client, conversation)

    async def release(self, session: str) -> int:
        """Let a session go to the cloud again; how many marks it had. Raises `StateError`."""
        return await self._store.release(session)

    async def _repeats(self, client: str, conversation: Conversation) -> bool:
        new = [piece for piece in conversation.pieces if self._read.get(piece.digest) is None]
        size = sum(piece.size for piece in new)
        marks = await self._apart.run(size, self._marks, client, new)
        found = await self._store.marked(list(marks)) if marks else frozenset[bytes]()
        if sum(marks[mark] for mark in found) >= ENOUGH:
            return True
        for piece in new:
            self._read.put(piece.digest, True, 1)
        return False

    def _marks(self, client: str, pieces: Iterable[Piece]) -> dict[bytes, int]:
        """The mark that each line would have, and how much it tells."""
        marks: dict[bytes, int] = {}
        for line in _lines_in(pieces):
            marks[self._line(client, line)] = len(line)
            marks[self._line(client, line, alone=True)] = ENOUGH
        return marks

    def _whose(self, client: str, session: str, conversation: Conversation) -> list[bytes]:
        root = conversation_id(self._key, client, conversation)
        begins = home_id(self._key, b"conversation", client, root)
        if not session:
            return [begins]
        return [begins, home_id(self._key, b"session", client, session.encode())]

    def _client(self, client: str) -> bytes:
        return home_id(self._key, b"client", client)

    def _line(self, client: str, line: str, *, alone: bool = False) -> bytes:
        kind = b"alone" if alone else b"line"
        return home_id(self._key, kind, client, line.encode("utf-8", "surrogatepass"))


def _lines_in(pieces: Iterable[Piece]) -> frozenset[str]:
    """The lines of the strings in some pieces."""
    texts = (text for piece in pieces for text in _texts(piece))
    return frozenset(line for text in texts for line in _lines(text))


def _texts(piece: Piece) -> Iterable[str]:
    """The strings of a piece; none where it cannot be read, as then the screen refuses it."""
    try:
        return [strand.text for strand in piece.strands() if not strand.is_key]
    except ValueError:
        return ()


def _lines(text: str) -> Sequence[str]:
    """Blanks are joined: clients wrap and indent what they repeat."""
    joined = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in joined if len(line) >= LEAST]
