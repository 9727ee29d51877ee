"""What was answered at home because it must not leave, and so must not leave later either.

Owns what is remembered of such answers, as keyed digests, and what of a conversation is held by
them: all of it, or messages of the model that no cloud gave. It must not know a dialect, what a
cloud is shown, or who answers.

A conversation that home has answered in is read run by run: what the model says behind a run is the
cloud's only where this run was sent there, or stood in the history before home first answered.
Everything else that a model says there was given at home, or nobody knows. So nothing depends on
recognising an answer, which clients repack; its text and its lines are remembered beside that.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from policies.conversation import Conversation, Piece
from policies.minimality import leading
from proxy.apart import Apart
from proxy.identity import conversation_id, home_id, home_ids, run_ids
from proxy.memory import Memory
from proxy.state.base import HomeStore, StateError

LEAST: Final = 8
"""Characters of the shortest line that is remembered."""

ENOUGH: Final = 40
"""Characters of different lines by which a text is known to repeat an answer. Fewer stand in any
text about the same subject."""

MOST: Final = 4_000
"""Lines of one answer that are remembered; its session and conversation are marked in any case."""

_KNOWN: Final = 65_536


@dataclass(frozen=True, slots=True)
class Held:
    """What of a conversation must not leave: all of it, if it `stays`; else `messages` of the
    model, by their index. `marked`: home has answered in it. `unsure`: it has answered the same
    client elsewhere, and whether this `repeats` that is still to be asked."""

    stays: bool = False
    marked: bool = False
    unsure: bool = False
    messages: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class _Saying:
    """An answer that is being told. `texts`: what of it is out; `asked`: the lines of its question,
    once somebody wanted them."""

    client: str
    conversation: Conversation
    texts: Callable[[], Sequence[str]]
    asked: frozenset[str] | None = None


STAYS: Final = Held(stays=True)


class HomeOnly:
    """The marks of one node. `key`: the state key."""

    def __init__(self, store: HomeStore, key: bytes, apart: Apart) -> None:
        self._store = store
        self._key = key
        self._apart = apart
        # A text that was read before an answer was given does not repeat that answer.
        self._read: Memory[tuple[str, bytes], bool] = Memory(_KNOWN)
        self._texts: Memory[tuple[str, bytes], tuple[bytes, ...]] = Memory(_KNOWN)
        self._saying: set[_Saying] = set()
        self.any = False

    async def present(self) -> bool:
        """Whether there are marks at all, whichever node has written them. Raises `StateError`."""
        if not self.any:
            self.any = await self._store.marks()
        return self.any

    async def hold(
        self, client: str, session: str, conversation: Conversation, *, repeats: bool = False
    ) -> None:
        """Mark a conversation and its session, before an answer of home is handed on. `repeats`:
        that is because it holds what home has answered. Raises `StateError`."""
        self.any = True
        root, *named = whose = self._whose(client, session, conversation)
        try:
            found = await self._store.marked(whose)
        except StateError:
            found, repeats = frozenset(), True  # in doubt all of it stays
        marks = [*whose, self._client(client)]
        # SECURITY: a beginning that nobody has seen may be a summary of what home has said.
        if root not in found and (repeats or not found.isdisjoint(named)):
            marks += self._closed(client, whose)
        elif conversation.runs:
            *before, last = await self._runs(client, conversation)
            marks.append(self._mark(b"answered", client, last))
            if root not in found:
                marks += [self._mark(b"went", client, run) for run in before]
        await self._store.mark(marks, session)

    async def said(
        self, client: str, session: str, texts: Sequence[str], conversation: Conversation
    ) -> None:
        """Mark an answer to `conversation`, before its end is told: its text, and the lines of it;
        those that stand in the request are not the answer's own. `texts`: what it says, then what
        its calls are given. Raises `StateError`."""
        asked = await self._asked(conversation)
        size = sum(map(len, texts))
        if marks := await self._apart.run(size, self._said, client, texts, asked):
            await self._store.mark(marks, session)

    def saying(
        self, client: str, conversation: Conversation, texts: Callable[[], Sequence[str]]
    ) -> Callable[[], None]:
        """An answer to `conversation` is being told, of which nothing may leave though it is not
        at its end. `texts`: what of it is out, as for `said`. What is returned is called when that
        has marked it, or could not."""
        saying = _Saying(client, conversation, texts)
        self._saying.add(saying)
        return lambda: self._saying.discard(saying)

    async def stayed(self, client: str, session: str, conversation: Conversation) -> None:
        """A model at home is asked, by choice, in a conversation that home has answered in: it may
        repeat that, so its answer stays as well. Raises `StateError`."""
        await self._note(b"answered", client, session, conversation)

    async def went(self, client: str, session: str, conversation: Conversation) -> None:
        """A cloud is asked in a conversation that home has answered in, so what it says is its own.
        Raises `StateError`."""
        await self._note(b"went", client, session, conversation)

    async def knows(self, client: str, conversation: Conversation) -> bool:
        """Whether home has answered in a conversation. Raises `StateError`."""
        root = self._whose(client, "", conversation)
        return bool(await self._store.marked(root))

    async def look(self, client: str, session: str, conversation: Conversation) -> Held:
        """What of a conversation must not leave. Raises `StateError`."""
        root, *named = whose = self._whose(client, session, conversation)
        closed, any_at_all = self._closed(client, whose), self._client(client)
        found = await self._store.marked([*whose, *closed, any_at_all])
        if not found.isdisjoint(closed):
            return STAYS
        if root in found:
            return await self._sifted(client, conversation)
        if not found.isdisjoint(named):
            return STAYS
        return Held(unsure=any_at_all in found)

    async def repeats(self, client: str, pieces: Iterable[Piece]) -> bool:
        """Whether what stands in `pieces` repeats what home has answered. Raises `StateError`."""
        new = [piece for piece in pieces if self._read.get((client, piece.digest)) is None]
        size = sum(piece.size for piece in new)
        under_way = [saying for saying in self._saying if saying.client == client]
        marks = await self._apart.run(size, self._marks, client, new)
        found = await self._store.marked(list(marks)) if marks else frozenset[bytes]()
        for saying in under_way if marks else ():
            found |= marks.keys() & await self._so_far(saying)
        if sum(marks[mark] for mark in found) >= ENOUGH:
            return True
        # SECURITY: what of an answer is still to come may stand in it as well.
        if not under_way:
            for piece in new:
                self._read.put((client, piece.digest), True, 1)
        return False

    async def release(self, session: str) -> int:
        """Let a session go to the cloud again; how many marks it had. Raises `StateError`."""
        return await self._store.release(session)

    async def _sifted(self, client: str, conversation: Conversation) -> Held:
        """What is held of a conversation that home has answered in."""
        # SECURITY: what was found for a call that is not there may have been found for home.
        if _orphans(conversation):
            return STAYS
        size = sum(piece.size for piece in conversation.pieces)
        runs = await self._runs(client, conversation)
        texts = await self._apart.run(size, self._texts_of, client, conversation)
        marks = [self._mark(kind, client, run) for kind in (b"answered", b"went") for run in runs]
        marks += {mark for each in texts.values() for mark in each}
        found = await self._store.marked(marks)
        at_home = [self._mark(b"answered", client, run) in found for run in runs]
        went = [self._mark(b"went", client, run) in found for run in runs]
        for number, run in enumerate(conversation.runs):
            seen = at_home[number] or went[number]
            # SECURITY: what a user said where nobody has seen it may be a summary.
            if run.has_user and run.start < conversation.turn and not seen:
                return STAYS
        held = {
            index
            for index, run in outputs(conversation).items()
            # SECURITY: what is not known to be the cloud's is home's.
            if run is None or at_home[run] or not went[run] or not found.isdisjoint(texts[index])
        }
        return Held(marked=True, messages=frozenset(held))

    async def _note(
        self, kind: bytes, client: str, session: str, conversation: Conversation
    ) -> None:
        if conversation.runs:
            *_, last = await self._runs(client, conversation)
            await self._store.mark([self._mark(kind, client, last)], session)

    async def _runs(self, client: str, conversation: Conversation) -> Sequence[bytes]:
        """What names each run, in order."""
        size = sum(piece.size for piece in conversation.pieces)
        runs = conversation.runs
        ids = await self._apart.run(size, run_ids, self._key, client, conversation, runs)
        return [ids[run.start] for run in runs]

    async def _asked(self, conversation: Conversation) -> frozenset[str]:
        """The lines of a question, which are not its answer's own."""
        pieces = conversation.pieces
        size = sum(piece.size for piece in pieces)
        return await self._apart.run(size, _lines_in, pieces)

    async def _so_far(self, saying: _Saying) -> Iterable[bytes]:
        """The marks that an answer would have if it ended here."""
        texts = saying.texts()
        if not any(texts):
            return ()
        if saying.asked is None:
            saying.asked = await self._asked(saying.conversation)
        size = sum(map(len, texts))
        return await self._apart.run(size, self._said, saying.client, texts, saying.asked)

    def _said(self, client: str, texts: Sequence[str], asked: frozenset[str]) -> list[bytes]:
        """The marks of an answer, but for the lines in `asked`."""
        said, *given = map(_lines, texts)
        # A path or a command is no answer: they stand in every session about the same things.
        own = [said, *(lines for lines in given if sum(map(len, lines)) >= ENOUGH)]
        # What an answer says in one line may be all that a summary repeats.
        alone = {line for lines in own if len(lines) == 1 for line in lines}
        lines = [line for each in own for line in each if line not in asked]
        marks = self._lines(client, dict.fromkeys(lines[:MOST]))
        marks += self._lines(client, alone - asked, alone=True)
        marks += [self._mark(b"text", client, about) for about in map(_whole, texts[:1]) if about]
        return marks

    def _texts_of(self, client: str, conversation: Conversation) -> Mapping[int, tuple[bytes, ...]]:
        """Message of the model → the marks that its texts would have."""
        pieces = {piece.address: piece for piece in conversation.pieces}
        found: dict[int, tuple[bytes, ...]] = {}
        for index in outputs(conversation):
            message = conversation.messages[index]
            key = client, message.digest
            if (marks := self._texts.get(key)) is None:
                texts = map(_whole, _texts(pieces[message.address]))
                marks = tuple(self._mark(b"text", client, text) for text in texts if text)
                self._texts.put(key, marks, 1 + len(marks))
            found[index] = marks
        return found

    def _marks(self, client: str, pieces: Iterable[Piece]) -> dict[bytes, int]:
        """The mark that each line would have, and how much it tells."""
        lines = list(_lines_in(pieces))
        marks = dict(zip(self._lines(client, lines), map(len, lines), strict=True))
        return marks | dict.fromkeys(self._lines(client, lines, alone=True), ENOUGH)

    def _whose(self, client: str, session: str, conversation: Conversation) -> list[bytes]:
        root = conversation_id(self._key, client, conversation)
        begins = self._mark(b"conversation", client, root)
        if not session:
            return [begins]
        return [begins, self._mark(b"session", client, session.encode())]

    def _closed(self, client: str, whose: Iterable[bytes]) -> list[bytes]:
        """What stays as a whole, whatever of it would leave."""
        return [self._mark(b"closed", client, each) for each in whose]

    def _client(self, client: str) -> bytes:
        return self._mark(b"client", client)

    def _lines(self, client: str, lines: Iterable[str], *, alone: bool = False) -> list[bytes]:
        return home_ids(self._key, b"alone" if alone else b"line", client, map(_bytes, lines))

    def _mark(self, kind: bytes, client: str, about: bytes = b"") -> bytes:
        return home_id(self._key, kind, client, about)


def outputs(conversation: Conversation) -> Mapping[int, int | None]:
    """The messages of the model → the number of the run before each, None for none."""
    found: dict[int, int | None] = {}
    at, before = leading(conversation), None
    for number, run in enumerate(conversation.runs):
        found |= dict.fromkeys(range(at, run.start), before)
        at, before = run.stop, number
    return found | dict.fromkeys(range(at, len(conversation.messages)), before)


def _orphans(conversation: Conversation) -> bool:
    """Whether there is a result whose call does not stand before it: by its id, or, where there is
    none, among what the model has said just before."""
    made: set[str] = set()
    called = False
    outputs_are = outputs(conversation)
    for message in conversation.messages:
        if message.index in outputs_are:
            called = bool(message.calls) or (called and message.index - 1 in outputs_are)
        made |= {call.id for call in message.calls}
        if any(call not in made if call else not called for call in message.answers):
            return True
    return False


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


def _whole(text: str) -> bytes:
    """A text, its blanks joined; nothing for one that is too short to tell anything."""
    joined = " ".join(text.split())
    return _bytes(joined) if len(joined) >= LEAST else b""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
