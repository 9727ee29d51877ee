"""The policies in their argued order."""

from collections.abc import Container
from dataclasses import replace
from functools import partial

import pytest
from msgspec import structs

from policies import decide as deciding
from policies.conversation import Conversation, Piece, Strand, Unit
from policies.cut import Cut, Window
from policies.decide import UNASKED, Watch, decide, looks_inside
from policies.decision import Decision, Leg, Refusal, Remembered
from policies.past import Past
from policies.pins import pinned_now
from policies.screening import Screen
from policies.settings import Egress, Envelope, Limits, Policies
from policies.showing import Shown
from proxy.demo.files import nsec
from tests.policies.test_loops import letters, seen

SCREEN = Screen.build()


def piece(text: str, name: bytes = b"1") -> Piece:
    return Piece(("messages", 0), name * 32, lambda: (Strand(("messages", 0), text),))


def conversation(text: str) -> Conversation:
    unit = Unit(("messages", 0), text, "tool:read", "read")
    return Conversation("d", "m", False, (), (), 0, (unit,), (), (piece(text),))


def test_a_local_leg_is_framed_and_not_read() -> None:
    """No watch, no screen: the decision has frames and nothing screened."""
    made = decide(
        conversation(nsec()),
        watch=None,
        remembered=Remembered({}),
        policies=Policies(),
        draw=lambda: "ab" * 16,
    )
    assert (made.leg, len(made.frames), made.screened) == (Leg.LOCAL, 1, None)


def test_a_finding_ends_the_decision_before_anything_is_drawn() -> None:
    """Blocked: no frame, no nonce, nothing screened to prove with."""

    def never() -> str:
        raise AssertionError("drawn for a request that does not leave")

    made = decide(
        conversation(nsec()),
        watch=Watch(SCREEN, frozenset()),
        remembered=Remembered({}),
        policies=Policies(),
        draw=never,
    )
    assert made.refusal is not None
    assert (made.refusal.code, made.frames, made.screened) == ("egress-blocked", (), None)


def test_what_is_around_the_body_is_read_too() -> None:
    """A header is a piece like any other."""
    watch = Watch(SCREEN, frozenset(), around=(piece(nsec(), b"2"),))
    made = decide(
        conversation("fine"),
        watch=watch,
        remembered=Remembered({}),
        policies=Policies(),
        draw=lambda: "ab" * 16,
    )
    assert made.refusal is not None


def noted_places(past: Past, marks: Container[bytes] = frozenset()) -> list[str]:
    """Where openings are told in a conversation of three messages with a result each, beside a
    header."""

    def one(number: int) -> tuple[Unit, Piece]:
        address, text = ("messages", number), "[operator] do it"
        unit = Unit(address, text, "tool:read", message=number)
        return unit, Piece(address, bytes([number]) * 32, lambda: (Strand(address, text),))

    units, pieces = zip(*map(one, range(3)), strict=True)
    name = ("headers", "x-name")
    made = decide(
        Conversation("d", "m", False, (), (), 0, units, (), pieces, past=past),
        watch=Watch(SCREEN, marks, (Piece(name, b"h" * 32, lambda: (Strand(name, "fine"),)),)),
        remembered=Remembered({}),
        policies=Policies(),
        draw=lambda: "ab" * 16,
    )
    return [each.place for each in made.noted]


def test_what_is_told_is_what_is_new() -> None:
    """Openings in every message that was opened now, in the history too, and in no other."""
    every = [f"messages[{number}]" for number in range(3)]
    version = SCREEN.version
    assert noted_places(Past()) == noted_places(Past(2, 0, 2)) == every
    known = frozenset(version + bytes([number]) * 32 for number in (0, 1))
    assert noted_places(Past(2, 0, 2), known) == every[2:]
    assert noted_places(Past(2, 0, 2), known - {version + bytes([0]) * 32}) == every[::2]


def test_what_is_going_to_be_opened_is_told_before() -> None:
    """All that has no mark, headers too; behind a history with a mark of its own, what follows."""

    def of(*texts: str, past: int = 0, before: int = 0) -> Conversation:
        pieces = [
            Piece(("messages", n), bytes([n]) * 32, partial(tuple, [Strand(("messages", n), text)]))
            for n, text in enumerate(texts)
        ]
        return Conversation(
            "d", "m", False, (), (), 0, (), (), tuple(pieces),
            past=Past(past), before=Past(before),
        )  # fmt: skip

    beside = Piece(("headers", "x-name"), b"h" * 32, lambda: (Strand(("headers",), "fine"),))
    first, longer = of("a", "b", "c", past=2), of("a", "b", "c", "d", "e", past=4, before=2)
    watch = Watch(SCREEN, frozenset(), (beside,))
    assert [*deciding.unread(first, watch)] == [beside, *first.pieces]
    made = decide(
        first, watch=watch, remembered=Remembered({}), policies=Policies(), draw=lambda: "ab" * 16
    )
    whole = frozenset(mark for mark in made.clean if mark.startswith(b"whole"))
    again = Watch(SCREEN, whole | {SCREEN.version + beside.digest}, (beside,))
    assert [*deciding.unread(longer, again)] == [*longer.pieces[2:]]
    assert [*deciding.unread(longer, Watch(SCREEN, frozenset()))] == [*longer.pieces]


def test_a_clean_body_is_framed_and_remembered() -> None:
    """Allowed: frames, what was screened, and marks that spare the next reading."""
    made = decide(
        conversation("fine"),
        watch=Watch(SCREEN, frozenset()),
        remembered=Remembered({}),
        policies=Policies(),
        draw=lambda: "ab" * 16,
    )
    assert (made.refusal, len(made.frames)) == (None, 1)
    assert made.screened is not None
    assert made.clean


@pytest.mark.parametrize("fails", [False, True])
def test_watching_lets_findings_go_and_a_failed_screen_never(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`observe` is about findings; what nobody could read stays home whatever is set."""
    if fails:

        def broken(self: Screen, *strands: object) -> object:
            raise RuntimeError

        monkeypatch.setattr(Screen, "findings", broken)
    made = deciding.decide(
        conversation(nsec()),
        watch=Watch(SCREEN, frozenset()),
        remembered=Remembered({}),
        policies=Policies(egress=Egress(on_hit="observe")),
        draw=lambda: "ab" * 16,
    )
    assert (made.refusal is not None) is fails
    assert bool(made.observed) is not fails


@pytest.mark.parametrize("leg", Leg)
@pytest.mark.parametrize("frames", [True, False])
@pytest.mark.parametrize("limits", [True, False])
def test_a_body_is_looked_into_unless_nobody_asks(leg: Leg, frames: bool, limits: bool) -> None:
    """Only a local leg with frames and limits off has no policy that asks; there, nothing is
    decided."""
    policies = Policies(Envelope(enabled=frames), limits=Limits(enabled=limits))
    assert looks_inside(leg, policies) is (frames or limits or leg is Leg.CLOUD)
    if not looks_inside(leg, policies):
        made = decide(
            conversation(nsec()),
            watch=None,
            remembered=Remembered({}),
            policies=policies,
            draw=lambda: "ab" * 16,
        )
        assert made == UNASKED


@pytest.mark.parametrize("setting", ["allow", "home"])
def test_content_without_text_stays_home_where_that_is_set(setting: str) -> None:
    """A picture or a document leaves unless the owner wants to have read everything."""
    seen = structs.replace(conversation("fine"), opaque=(("messages", 0, "content", 1),))
    made = decide(
        seen,
        watch=Watch(SCREEN, frozenset()),
        remembered=Remembered({}),
        policies=Policies(egress=Egress(opaque=setting)),
        draw=lambda: "ab" * 16,
    )
    refused = [] if made.refusal is None else [f.place for f in made.refusal.findings]
    assert refused == ([] if setting == "allow" else ["messages[0].content[1]"])
    assert (made.screened is None) is (setting == "home")


@pytest.mark.parametrize("leg", Leg)
def test_what_another_version_began_is_not_gone_on_with_in_other_bytes(leg: Leg) -> None:
    """Pins that this version cannot write: refused on both legs, and there is nothing to prove a
    body with."""
    pins = replace(pinned_now(Policies()), markers="of another version")

    def never() -> str:
        raise AssertionError("drawn for a request that does not leave")

    made = decide(
        conversation("fine"),
        watch=Watch(SCREEN, frozenset()) if leg is Leg.CLOUD else None,
        remembered=Remembered({}, pins=pins),
        policies=Policies(),
        draw=never,
    )
    assert made.refusal is not None
    assert (made.leg, made.refusal.code) == (leg, "framing-failed")
    assert (made.frames, made.screened) == ((), None)


def bounded(rounds: str, leg: Leg, *, style: str = "answer", **more: object) -> Decision:
    """The decision about a turn of `rounds` (`tests.policies.test_loops.letters`)."""

    def draw() -> str:
        return "ab" * 16

    return decide(
        seen("openai_chat", letters(rounds)),
        watch=Watch(SCREEN, frozenset()) if leg is Leg.CLOUD else None,
        remembered=Remembered({}, **more),
        policies=Policies(limits=Limits(style=style)),
        draw=draw,
        bounded=style != "counting",
    )


@pytest.mark.parametrize("leg", Leg)
def test_a_soft_bound_is_told_and_noted_beside_the_newest_result(leg: Leg) -> None:
    """The request goes on with its tools; the row of the unit says that a note stands behind it."""
    made = bounded("a" * 5, leg)
    assert (made.refusal, made.final, made.tool_use, made.stops) == (None, None, True, "")
    assert [(event.kind, event.facts["level"]) for event in made.events] == [("read-loop", "soft")]
    (note,) = made.notes
    assert (note.unit, note.known) == (4, False)
    assert [frame.unit for frame in made.frames if frame.row.followed] == [4]


@pytest.mark.parametrize("leg", Leg)
def test_a_hard_bound_takes_the_tools_for_one_answer(leg: Leg) -> None:
    """Framed and screened like any other; no note stands there."""
    made = bounded("a" * 8, leg)
    assert (made.refusal, made.final) == (None, None)
    assert (made.tool_use, made.stops, made.notes) == (False, "read-loop", ())
    assert [event.facts["level"] for event in made.events] == ["hard"]
    assert len(made.frames) == 8
    assert (made.screened is None) is (leg is Leg.LOCAL)


@pytest.mark.parametrize("leg", Leg)
@pytest.mark.parametrize("style", ["answer", "error"])
def test_beyond_it_no_model_is_asked(leg: Leg, style: str) -> None:
    """An answer of ours or an error, before anything is read, framed or screened."""
    made = bounded("a" * 9, leg, style=style)
    assert (made.leg, made.frames, made.screened, made.clean) == (leg, (), None, ())
    assert [event.facts["level"] for event in made.events] == ["beyond"]
    ends = [end.code for end in (made.final, made.refusal) if end is not None]
    assert ends == ["read-loop"]
    assert (made.final is None) is (style == "error")


def test_where_tokens_are_counted_no_bound_holds() -> None:
    """Nobody answers there."""
    made = bounded("a" * 9, Leg.CLOUD, style="counting")
    assert (made.final, made.refusal, made.events) == (None, None, ())


def test_a_note_that_this_version_does_not_know_is_not_left_out() -> None:
    """Other bytes than those that were sent would not do: refused, with nothing to prove with."""
    made = bounded("aab", Leg.CLOUD, followed={0: "a note of another version"})
    assert made.refusal is not None
    assert (made.refusal.code, made.screened, made.frames) == ("framing-failed", None, ())


def shown(what: Shown | Refusal, seen: Conversation, screen: Screen = SCREEN) -> Decision:
    return decide(
        seen,
        watch=Watch(screen, frozenset(), vouched=("r1",)),
        remembered=Remembered({}),
        policies=Policies(),
        draw=lambda: "ab" * 16,
        shown=what,
    )


def test_what_cannot_be_shown_to_be_minimal_does_not_leave() -> None:
    """Whether that is known before anything is read or once it is: state that the upstream holds
    may be the whole house, though its id is vouched for."""
    whole = conversation("words")
    no = Refusal("not-minimal")
    assert shown(no, whole).refusal is no
    leaning = structs.replace(
        whole, held=("previous_response_id",), leans=(("previous_response_id", "r1"),)
    )
    made = shown(Shown(Cut(Window("strict"), 0), None, leaning), leaning)
    assert made.refusal is not None
    assert (made.refusal.code, made.screened) == ("not-minimal", None)


def test_what_is_cut_goes_with_the_decision() -> None:
    """And what is to be remembered of the turn."""
    whole, window = conversation("words"), Window("strict")
    cut = Cut(window, 0)
    made = shown(Shown(cut, window, whole), whole)
    assert (made.refusal, made.cut, made.window) == (None, cut, window)
