"""How much of a conversation the requests of a turn show, and what of it that leaves in view.

Owns the window of a turn: the first request fixes it, by the settings in force, the cap and what
the model is told; later ones keep it. It must not know which parts a cut takes out (`minimality`),
nor how anything is taken out. What cannot be shown to be minimal does not leave.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from msgspec import structs

from policies.conversation import Address, Conversation, Piece, Strand, Unit
from policies.cut import OPEN, Cut, Window
from policies.decision import Refusal
from policies.drop_notice import build_drop_notice
from policies.minimality import leading, names_of, plan
from policies.past import Past
from policies.settings import Minimality

NOT_MINIMAL: Final = "not-minimal"
HOME_ONLY: Final = "home-only"
TOO_LONG: Final = "it is longer than `minimality.max_outbound_chars` allows"
UNDIVIDED: Final = "what grants tools in between cannot stand without what surrounds it"
WHOLE: Final = "of earlier turns it holds more than may leave, and `minimality.strategy` is home"
FOLDED: Final = "what came before is in it in a form that nobody can take apart"


@dataclass(frozen=True, slots=True)
class Shown:
    """`cut`: what is taken out. `window`: what is to be remembered of the turn, None where that is
    known. `seen`: the conversation without the pieces, units, places and state held elsewhere that
    do not leave; messages and runs are all there, as they are numbered."""

    cut: Cut
    window: Window | None
    seen: Conversation


def show(
    conversation: Conversation,
    known: Window | None,
    settings: Minimality,
    planned: Callable[[Conversation, Window], Cut | None] = plan,
) -> Shown | Refusal:
    """What leaves of `conversation` for a cloud, or why nothing does. `known`: the window of its
    current turn, None at the turn's first request. `planned`: as `plan`, or from memory."""
    window = known or _begun(conversation, settings)
    if _holds_home(conversation, window):
        return Refusal(HOME_ONLY)
    cut = planned(conversation, window)
    if cut is None:
        return _no(UNDIVIDED)
    cuts = cut.cuts
    # SECURITY: what nothing may be taken out of does not leave with something taken out either.
    if cuts and window.strategy == "home":
        return _no(WHOLE)
    if known is None and cuts:
        cut = replace(cut, names=names_of(conversation, cut))
        window = replace(window, notice=_notice(conversation, cut))
        cut = replace(cut, window=window)
    seen = remaining(conversation, cut) if cuts else conversation
    if _spare(seen, settings.max_outbound_chars) < 0:
        return _no(TOO_LONG)
    if window.mode != "off" and seen.folded:
        return _no(FOLDED)
    new = known is None and (cuts or lasts(conversation))
    return Shown(cut, window if new else None, seen)


def lasts(conversation: Conversation) -> bool:
    """Whether a turn may take several requests, so that its window is worth noting even where
    nothing is cut."""
    return bool(conversation.units or conversation.tools)


def leans(seen: Conversation, window: Window) -> Refusal | None:
    """Why what remains may not leave under `window`: it leans on state that the upstream holds, of
    which nobody here can say what it is."""
    if window.mode == "off" or not seen.held:
        return None
    # SECURITY: what an upstream holds may be the whole house, whoever vouches for its id.
    held = seen.held[0]
    return _no(f"it leans on `{held}`, which only the upstream can read", held=held)


def remains(cut: Cut, unit: Unit) -> bool:
    """Whether a unit leaves with its message."""
    if unit.message in cut.gone or unit.message in cut.home:
        return False
    return not any(unit.address[: len(way)] == way for way in cut.ways(unit.message))


def remaining(conversation: Conversation, cut: Cut) -> Conversation:
    """The conversation without the pieces, units, places and leanings that a cut takes out."""
    gone = {conversation.messages[index].address for index in (*cut.gone, *cut.home)}
    out = {conversation.messages[i].address: cut.ways(i) for i in cut.digests}
    digests = {conversation.messages[i].address: one for i, one in cut.digests.items()}

    def left(address: Address) -> bool:
        whole = address[:2]
        ways = out.get(whole, ())
        return whole not in gone and not any(address[: len(way)] == way for way in ways)

    leaning = tuple((way, pair) for way, pair in conversation.leaning if left(way))
    return structs.replace(
        conversation,
        pieces=tuple(_pieces(conversation.pieces, gone, out, digests)),
        opaque=tuple(filter(left, conversation.opaque)),
        unknown=tuple(filter(left, conversation.unknown)),
        held=tuple(dict.fromkeys(name for _, (name, _) in leaning)),
        leans=tuple(dict.fromkeys(pair for _, pair in leaning)),
        leaning=leaning,
        units=tuple(unit for unit in conversation.units if remains(cut, unit)),
        since=cut.turn,
        passed=tuple(unit for unit in conversation.units if not remains(cut, unit)),
        past=Past(),  # what is known of a past counts what stands there whole
        before=Past(),
    )


def _holds_home(conversation: Conversation, window: Window) -> bool:
    """Whether what was given at home cannot be left out: everything is shown, the turn itself goes
    on from it, or what follows needs it."""
    home = conversation.home
    if not home:
        return False
    # SECURITY: a turn that home has taken part in goes on from what it has said.
    if window.mode == "off" or max(home) >= conversation.turn:
        return True
    return any(conversation.messages[index].grants for index in home)


def _begun(conversation: Conversation, settings: Minimality) -> Window:
    if settings.mode == "off":
        return OPEN
    window = Window(settings.mode, settings.strategy)
    most = settings.max_outbound_chars
    if not most or (cut := plan(conversation, window)) is None:
        return window
    seen = remaining(conversation, cut)
    if (spare := _spare(seen, most)) >= 0:
        return window
    return replace(window, turns=_heard(conversation, seen, spare))


def _heard(conversation: Conversation, seen: Conversation, spare: int) -> int:
    """How many earlier turns, the newest first, may be heard where `spare` characters are too few
    by so many for all of them."""
    start, turn = leading(conversation), conversation.turn
    sizes = {piece.address: _chars([piece]) for piece in seen.pieces}
    begins = [r.start for r in conversation.runs if r.has_user and not r.answers_call]
    begins = [at for at in begins if start <= at < turn]
    heard = len(begins)
    edges = [*begins, turn]
    first = start
    for end in edges[1:]:
        spare += sum(sizes.get(m.address, 0) for m in conversation.messages[first:end])
        heard, first = heard - 1, end
        if spare >= 0:
            break
    return heard


def _notice(conversation: Conversation, cut: Cut) -> str:
    rounds = sum(run.answers_call for run in conversation.runs if run.start >= cut.turn)
    if not cut.gone:
        return ""
    gone = {conversation.messages[index].address for index in cut.gone}
    spared = sum(piece.size for piece in conversation.pieces if piece.address in gone)
    return build_drop_notice(
        count=len(cut.gone),
        iteration=1 + rounds,
        strategy=cut.window.mode,
        names=cut.names,
        granted=conversation.tools,
        spared=None if _needs_head(conversation, cut) else spared,
    )


def _needs_head(conversation: Conversation, cut: Cut) -> bool:
    """Whether the notice has to be there: it is the message of a user that has to come first."""
    if cut.inside:
        return False
    start = leading(conversation)
    staying = (i for i in range(start, cut.turn) if i not in cut.gone)
    return next(staying, cut.turn) < cut.turn


def _pieces(
    pieces: Iterable[Piece],
    gone: set[Address],
    out: Mapping[Address, tuple[Address, ...]],
    digests: Mapping[Address, bytes],
) -> Iterable[Piece]:
    for piece in pieces:
        if piece.address in gone:
            continue
        if (digest := digests.get(piece.address)) is None:
            yield piece
            continue
        strands = partial(_strands, piece, out[piece.address])
        yield Piece(piece.address, digest, strands, piece.size)


def _strands(piece: Piece, ways: tuple[Address, ...]) -> tuple[Strand, ...]:
    """The strings that leave. The piece is parsed whole, and as strictly as ever."""
    return tuple(
        strand
        for strand in piece.strands()
        if not any(strand.address[: len(way)] == way for way in ways)
    )


def _spare(seen: Conversation, most: int) -> int:
    """How many characters could leave besides; 0 without a cap."""
    if not most or sum(piece.size for piece in seen.pieces) <= most:
        return 0
    return most - _chars(seen.pieces)


def _chars(pieces: Iterable[Piece]) -> int:
    """Characters of all strings, keys included: what a model, or whoever reads along, may read."""
    return sum(len(strand.text) for piece in pieces for strand in piece.strands())


def _no(reason: str, **more: str) -> Refusal:
    return Refusal(NOT_MINIMAL, facts={"reason": reason, **more})
