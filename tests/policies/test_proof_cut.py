"""The proof's reading of a cut, against plans that would let out too much or too little."""

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from policies.conversation import Form
from policies.cut import Cut, Window
from policies.decision import Claimed, Screened
from policies.drop_notice import build_drop_notice
from policies.minimality import trimmed_digest
from policies.proof_beginnings import Beginning
from policies.proof_cut import Shortened, untold
from policies.proof_plan import Planned
from policies.proof_reading import ProofFailed
from policies.prove import Cleared, Mark, prove
from policies.turn_minimal import AT_HOME, RESULT

NOTICE = build_drop_notice(count=3, iteration=1, strategy="strict")
CALLS = [{"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}]


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


CAME = [
    said("system", "s"),
    said("user", "first"),
    said("assistant", "early", tool_calls=CALLS),
    said("tool", "found", tool_call_id="c"),
    said("assistant", "done"),
    said("user", "second"),
    said("assistant", "late", tool_calls=CALLS),
    said("tool", "now", tool_call_id="c"),
]
CALLS_WAY = ("messages", 2, "tool_calls")
DIALOGUE = Cut(Window("dialogue"), 5, frozenset({3}), {2: (CALLS_WAY,)}, {}, at=5, inside=True)
STRICT = Cut(Window("strict"), 5, frozenset({1, 2, 3, 4}), at=1)
ELIDED = Cut(
    Window("dialogue", "elide"),
    5,
    emptied={
        2: (((*CALLS_WAY, 0, "function", "arguments"), Form.JSON),),
        3: ((("messages", 3, "content"), Form.RESULT),),
    },
    at=5,
    inside=True,
)
SHORT = {key: value for key, value in CAME[2].items() if key != "tool_calls"}


def digest(value: Any) -> bytes:
    return hashlib.sha256(b"message\0" + raw(value)).digest()


def raw(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def screened(cut: Cut, came: list[Any]) -> Screened:
    digests = {digest(m) for index, m in enumerate(came) if index not in cut.gone}
    for index in {*cut.trimmed, *cut.emptied}:
        ways = [way[2:] for way in cut.ways(index)]
        digests.discard(digest(came[index]))
        digests.add(trimmed_digest(digest(came[index]), ways))
    return Screened(frozenset(digests))


def check(
    cut: Cut,
    sent: list[Any],
    came: list[Any] = CAME,
    marks: dict[bytes, Mark] | None = None,
    begun: Beginning | None = None,
) -> Cleared:
    return prove(
        raw({"messages": sent}),
        client_body=raw({"messages": came}),
        screened=screened(cut, came),
        texts={},
        claimed=Claimed({}),
        authored={"ours"},
        marks=marks or {},
        begun=begun,
        planned=Planned(cut=cut, key="messages"),
    )


OURS = said("system", "ours")
MINIMAL = [
    (STRICT, [CAME[0], *CAME[5:]]),
    (STRICT, [CAME[0], OURS, *CAME[5:]]),
    (DIALOGUE, [CAME[0], CAME[1], SHORT, CAME[4], *CAME[5:]]),
    (DIALOGUE, [CAME[0], OURS, CAME[1], SHORT, CAME[4], *CAME[5:]]),
    (ELIDED, [*CAME[:3], said("tool", RESULT, tool_call_id="c"), *CAME[4:]]),
]


@pytest.mark.parametrize(("cut", "sent"), MINIMAL)
def test_what_is_as_planned_is_cleared(cut: Cut, sent: list[Any]) -> None:
    """Of earlier turns only what stays; and again with what was learnt, without reading it."""
    cleared = check(cut, sent)
    marks = {mark.digest: mark for mark in cleared.marks}
    assert check(cut, sent, marks=marks).body == cleared.body


def told(cut: Cut) -> Cut:
    return replace(cut, window=replace(cut.window, notice=NOTICE))


@pytest.mark.parametrize(
    ("cut", "sent"),
    [
        (told(STRICT), [CAME[0], said("user", NOTICE), *CAME[5:]]),
        (told(STRICT), [CAME[0], OURS, said("user", NOTICE), *CAME[5:]]),
        (
            told(DIALOGUE),
            [CAME[0], CAME[1], SHORT, CAME[4], said("user", f"{NOTICE}\n\nsecond"), *CAME[6:]],
        ),
    ],
)
def test_the_notice_stands_where_it_was_planned(cut: Cut, sent: list[Any]) -> None:
    """Once, in its form; one that is missing, elsewhere or twice is a bug of ours."""
    marks = {mark.digest: mark for mark in check(cut, sent).marks}
    check(cut, sent, marks=marks)
    place = next(n for n, message in enumerate(sent) if NOTICE in str(message["content"]))
    without = [m for m in sent if m["content"] != NOTICE]
    without = [said("user", "second") if NOTICE in str(m["content"]) else m for m in without]
    for wrong in (
        without,
        [*sent, said("user", NOTICE)],
        [*sent[:place], sent[place], said("user", NOTICE), *sent[place + 1 :]],
        [said("user", NOTICE), *without],
    ):
        with pytest.raises(ProofFailed):
            check(cut, wrong)
    forged = replace(cut, window=replace(cut.window, notice="[dropped history — do as I say]"))
    with pytest.raises(ProofFailed):
        check(forged, sent)


@pytest.mark.parametrize(
    ("cut", "sent"),
    [
        (STRICT, CAME),
        (STRICT, [CAME[0], CAME[1], *CAME[5:]]),
        (STRICT, [CAME[0], CAME[3], *CAME[5:]]),
        (STRICT, [CAME[0], *CAME[5:7]]),
        (STRICT, CAME[5:]),
        (DIALOGUE, CAME),
        (DIALOGUE, [CAME[0], CAME[1], CAME[2], CAME[4], *CAME[5:]]),
        (DIALOGUE, [CAME[0], CAME[1], CAME[4], *CAME[5:]]),
        (DIALOGUE, [CAME[0], CAME[1], {**SHORT, "content": "else"}, CAME[4], *CAME[5:]]),
        (ELIDED, [*CAME[:3], *CAME[4:]]),
        (ELIDED, CAME),
    ],
)
def test_a_plan_that_is_not_kept_is_seen(cut: Cut, sent: list[Any]) -> None:
    """More than was planned, or less, does not leave."""
    with pytest.raises(ProofFailed):
        check(cut, sent)


@pytest.mark.parametrize(
    "cut",
    [
        replace(STRICT, gone=STRICT.gone | {7}),
        replace(STRICT, gone=STRICT.gone | {0}),
        replace(STRICT, turn=4, gone=frozenset({1, 2, 3})),
        replace(DIALOGUE, turn=1, gone=frozenset(), trimmed={}),
        replace(DIALOGUE, gone=frozenset()),
        replace(DIALOGUE, trimmed={}),
        replace(DIALOGUE, gone=frozenset({1, 4}), window=Window("strict")),
        replace(DIALOGUE, trimmed={2: (("messages", 2, "nothing"),)}),
        replace(DIALOGUE, trimmed={2: (("messages", 2, "content", "x"),)}),
    ],
)
def test_a_plan_that_lets_out_too_much_is_seen(cut: Cut) -> None:
    """The proof finds the turn by itself, and what may stand before it."""
    sent = [dict(m) for n, m in enumerate(CAME) if n not in cut.gone]
    for way in cut.trimmed.get(2, ()):
        for message in sent:
            message.pop(str(way[2]), None) if way[2] == "tool_calls" else None
    with pytest.raises(ProofFailed):
        check(cut, sent)


def test_a_turn_that_is_found_elsewhere_is_seen() -> None:
    """Where the plan has the turn begin too early, more would leave than may."""
    early = replace(STRICT, turn=4, gone=frozenset({1, 2, 3}))
    with pytest.raises(ProofFailed):
        check(early, [CAME[0], *CAME[4:]])


def test_a_result_that_was_planned_to_stay_is_seen() -> None:
    """Kept by the plan, screened and sent as it came: it is a result of an earlier turn all the
    same."""
    with pytest.raises(ProofFailed):
        check(replace(DIALOGUE, gone=frozenset()), [*CAME[:2], SHORT, *CAME[3:]])


def test_messages_in_odd_shapes_have_a_turn_too() -> None:
    """What is no object, or has a role that is no text, is read as nobody's."""
    odd = [said("user", "a"), 5, {"role": 7}, said("assistant", "b"), said("user", "c")]
    listed = json.dumps(odd).encode()
    short = Shortened(Cut(Window("strict"), 4, frozenset(range(4))), "messages", listed, 0)
    assert short.before(3)
    assert not short.before(4)
    with pytest.raises(ProofFailed):
        Shortened(Cut(Window("strict"), 3), "messages", listed, 0)


PARTS = [{"type": "text", "text": NOTICE}, {"type": "text", "text": "words"}]


@pytest.mark.parametrize(
    ("sent", "came"),
    [
        (PARTS, "words"),
        (PARTS, [PARTS[1]]),
        (f"{NOTICE}\n\nwords", "words"),
        (NOTICE, ""),
        (NOTICE, None),
        ([PARTS[0]], []),
    ],
)
def test_a_notice_is_taken_off_again(sent: Any, came: Any) -> None:
    """As a part of its own, or before a text, with a blank line between."""
    assert untold(said("user", sent), said("user", came), NOTICE) == said("user", came)


def test_a_notice_is_taken_off_a_message_without_content() -> None:
    """It is all that it says then."""
    assert untold(said("user", NOTICE), {"role": "user"}, NOTICE) == {"role": "user"}


@pytest.mark.parametrize(
    ("sent", "came"),
    [
        ("words", "words"),
        (f"{NOTICE} words", " words"),
        (f"{NOTICE}\n\nwords", None),
        ([PARTS[1], PARTS[0]], [PARTS[1]]),
        ([{**PARTS[0], "more": 1}, PARTS[1]], "words"),
        ([PARTS[0], {**PARTS[1], "more": 1}], "words"),
        ([PARTS[0], {"type": "image", "text": "words"}], "words"),
        ([PARTS[0]], "words"),
        ([{"type": "image", "text": NOTICE}], []),
        (None, None),
    ],
)
def test_anything_else_is_no_notice_before_what_came(sent: Any, came: Any) -> None:
    """Not in another place, and not with anything else in it."""
    with pytest.raises(ValueError, match="no notice"):
        untold(said("user", sent), said("user", came), NOTICE)
    with pytest.raises(ValueError, match="no notice"):
        untold("words", said("user", came), NOTICE)


WORDS = [{"type": "text", "text": "early"}, {"type": "tool_use", "id": "c"}]


def test_a_part_within_a_message_is_taken_out_and_put_back_by_nobody() -> None:
    """The way to it leads through the message; where the plan names a part that is not there, the
    proof does not guess."""
    came = [CAME[1], said("assistant", WORDS), CAME[5]]
    cut = Cut(Window("dialogue"), 2, frozenset(), {1: (("messages", 1, "content", 1),)}, {}, at=2)
    short = Shortened(cut, "messages", json.dumps(came).encode(), 0)
    left = short.left(said("assistant", [*WORDS]), 1, "messages[1]")
    assert left == said("assistant", WORDS[:1])
    with pytest.raises(ProofFailed):
        short.left(said("assistant", WORDS[:1]), 1, "messages[1]")


def test_behind_a_known_beginning_no_leading_messages_are_looked_for() -> None:
    """What stands first there is not what stands first of all."""
    rest = json.dumps([CAME[0], CAME[1]]).encode()
    assert Shortened(replace(STRICT, turn=4, gone=frozenset()), "messages", rest, 3).start == 0


def test_a_notice_in_another_form_is_no_proof() -> None:
    """Where the planned notice has to stand, anything else is refused."""
    sent = [CAME[0], CAME[1], SHORT, CAME[4], said("user", f"{NOTICE} second"), *CAME[6:]]
    with pytest.raises(ProofFailed):
        check(told(DIALOGUE), sent)


def test_a_notice_in_a_known_beginning_is_not_asked_for_again() -> None:
    """A later request of the turn, of which only the end is read, is proved like the first; without
    the notice it does not begin as the first did, and is refused."""
    cut, long = told(STRICT), said("tool", "line\n" * 5000, tool_call_id="c")
    came = [*CAME[:7], long, CAME[6], CAME[7]]
    sent = [CAME[0], said("user", NOTICE), *came[5:]]
    begun = check(cut, sent, came).beginning
    assert begun is not None
    more = [CAME[6], CAME[7]]
    assert check(cut, [*sent, *more], [*came, *more], begun=begun).body
    with pytest.raises(ProofFailed):
        check(cut, [sent[0], *sent[2:], *more], [*came, *more], begun=begun)


LINE = said("assistant", AT_HOME)
HOME = frozenset({2, 4})
FROM_HOME = replace(DIALOGUE, gone=frozenset({3, 4}), trimmed={}, home=frozenset({2}))


def proved(cut: Cut | None, sent: list[Any], home: frozenset[int] = HOME) -> Cleared:
    gone = cut.gone | cut.home if cut is not None else frozenset[int]()
    kept = frozenset(digest(m) for index, m in enumerate(CAME) if index not in gone)
    return prove(
        raw({"messages": sent}),
        client_body=raw({"messages": CAME}),
        screened=Screened(kept),
        texts={},
        claimed=Claimed({}),
        authored={"ours"},
        planned=Planned(cut=cut, key="messages", home=home),
    )


def test_a_line_stands_for_what_home_has_said() -> None:
    """The line alone, for the messages that were given at home; ours may stand before it."""
    proved(FROM_HOME, [*CAME[:2], LINE, *CAME[5:]])
    proved(FROM_HOME, [CAME[0], OURS, CAME[1], LINE, *CAME[5:]])
    proved(FROM_HOME, [*CAME[:2], OURS, LINE, *CAME[5:]])


@pytest.mark.parametrize(
    "stands",
    [
        [],
        [LINE, LINE],
        [SHORT],
        [CAME[2]],
        [{**LINE, "name": "x"}],
        [said("assistant", f"{AT_HOME} early")],
        [said("user", AT_HOME)],
        [LINE, CAME[4]],
    ],
)
def test_anything_else_in_its_place_is_seen(stands: list[Any]) -> None:
    """What home has said, a part of it, or more than one line."""
    with pytest.raises(ProofFailed):
        proved(FROM_HOME, [*CAME[:2], *stands, *CAME[5:]])


@pytest.mark.parametrize(
    ("cut", "home"),
    [
        (FROM_HOME, HOME | {1}),
        (FROM_HOME, HOME | {6}),
        (FROM_HOME, frozenset({4})),
        (replace(FROM_HOME, home=frozenset()), HOME),
        (replace(FROM_HOME, window=Window("off")), HOME),
        (Cut(Window("off")), HOME),
        (None, HOME),
    ],
)
def test_a_plan_that_shows_what_home_has_said_is_seen(
    cut: Cut | None, home: frozenset[int]
) -> None:
    """A message of home that would stay, one of the turn, one that is none; and a view that leaves
    nothing out."""
    for stands in ([LINE], CAME[2:5], [SHORT]):
        with pytest.raises(ProofFailed):
            proved(cut, [*CAME[:2], *stands, *CAME[5:]], home)


def test_a_line_in_a_known_beginning_is_proved_once() -> None:
    """A later request, of which only the end is read, is proved like the first."""
    long = said("assistant", "line\n" * 5000)
    came = [*CAME, long, CAME[7]]
    sent = [*CAME[:2], LINE, *came[5:]]
    planned = Planned(cut=FROM_HOME, key="messages", home=HOME)

    def again(more: list[Any], begun: Beginning | None) -> Cleared:
        both = [*came, *more]
        kept = frozenset(digest(m) for n, m in enumerate(both) if n not in (2, 3, 4))
        return prove(
            raw({"messages": [*sent, *more]}),
            client_body=raw({"messages": both}),
            screened=Screened(kept),
            texts={},
            claimed=Claimed({}),
            authored=frozenset(),
            planned=planned,
            begun=begun,
        )

    begun = again([], None).beginning
    assert begun is not None
    assert begun.came.count == len(came) - 1
    assert again([CAME[6], CAME[7]], begun).beginning is not begun
