"""The proof's quick look at framed messages: what it sees is what the comparison of values sees."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import proof_json as own
from policies.decision import Claimed, FrameRow, Screened
from policies.proof_frames import Frames
from policies.proof_reading import ProofFailed
from policies.proof_spelled import STEM, framed
from policies.proof_values import Values
from policies.prove import prove
from tests.policies.test_prove import NONCE, OTHER, dump, frame, screened

ROW = FrameRow(NONCE, "read", intro=False)
INTRO = replace(ROW, intro=True)


def seen(came: bytes, sent: bytes, rows: list[FrameRow], texts: list[str]) -> list[int] | None:
    found = framed(came, sent, zip(range(len(rows)), rows, texts, strict=True))
    return None if found is None else [*found.numbers]


def result(*texts: str) -> dict[str, object]:
    return {"role": "user", "content": [{"type": "tool_result", "content": t} for t in texts]}


def inside(text: str, row: FrameRow = ROW) -> str:
    whole = frame(text, nonce=row.nonce, field=row.field, intro=False)
    intro = f"[Data envelope (code-owned)]: this message's nonce is {row.nonce}.\n"
    return intro * row.intro + whole


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize("letters", [False, True])
def test_frames_are_seen_however_the_client_escapes(spaced: bool, letters: bool) -> None:
    """Several in one message, first with the intro, between texts that nobody framed."""
    separators = (", ", ": ") if spaced else (",", ":")

    def raw(value: object) -> bytes:
        return json.dumps(value, separators=separators, ensure_ascii=letters).encode()

    texts = ['one\n"ü"', "two\\", ""]
    came = raw(result("plain", texts[0], texts[1], "plain", texts[2]))
    rows = [INTRO, ROW, ROW]
    words = [inside(text, row) for text, row in zip(texts, rows, strict=True)]
    sent = raw(result("plain", words[0], words[1], "plain", words[2]))
    assert seen(came, sent, rows, texts) == [0, 1, 2]
    more = [*rows, replace(ROW, nonce=OTHER)], [*texts, "of the next message"]
    assert seen(came, sent, *more) == [0, 1, 2]


def test_a_frame_that_begins_within_a_string_is_not_seen() -> None:
    """Behind an escaped quotation mark: what stands before it in the string is in no frame."""
    came = dump(result('before "text'))
    sent = came.replace(b'\\"text"', b"\\" + dump(inside("text")))
    assert json.loads(sent)["content"][0]["content"].startswith('before "[[')
    assert seen(came, sent, [ROW], ["text"]) is None


ONE = dump(result("text", "more"))
FRAMED = dump(result(inside("text"), "more"))


@pytest.mark.parametrize(
    ("came", "sent", "row", "text"),
    [
        (ONE, ONE, ROW, "text"),
        (ONE, FRAMED, INTRO, "text"),
        (ONE, FRAMED, replace(ROW, field="write"), "text"),
        (ONE, FRAMED, replace(ROW, nonce=OTHER), "text"),
        (ONE, FRAMED, replace(ROW, kept=2), "text"),
        (ONE, FRAMED, replace(ROW, encode="json"), "text"),
        (ONE, FRAMED, ROW, "other"),
        (ONE, FRAMED.replace(b"more", b"mare"), ROW, "text"),
        (ONE, FRAMED.replace(b"user", b"uses"), ROW, "text"),
        (ONE, FRAMED.replace(b"]]\\ntext", b"]]\\ntexts"), ROW, "text"),
        (ONE, FRAMED.replace(b"[[END_", b"[[end_"), ROW, "text"),
        (ONE, dump(result(inside("text"), inside("more"))), ROW, "text"),
        (dump({"text": 1}), dump({inside("text"): 1}), ROW, "text"),
        (rb'{"a":"\ud800"}', dump({"a": inside("#")}).replace(b"#", rb"\ud800"), ROW, "\ud800"),
        (dump(result("")), dump(result(inside("").replace("\n\n", "\n"))), ROW, ""),
        (b'["x",\n"y"]', dump([inside("#")]).replace(b"#", b'x",\n"y'), ROW, 'x",\n"y'),
        (ONE, FRAMED.replace(b"=read", b"=re d"), replace(ROW, field="re d"), "text"),
        (ONE, FRAMED.replace(NONCE.encode(), b"ABC"), replace(ROW, nonce="ABC"), "text"),
    ],
)
def test_what_is_not_seen_so_is_left_to_a_closer_look(
    came: bytes, sent: bytes, row: FrameRow, text: str
) -> None:
    """Another row or text, a change beside the frame, a key, a cut, marks that are none."""
    assert seen(came, sent, [row], [text]) is None


@pytest.mark.parametrize("text", [f"see {NONCE}", "TRANSOM_DATA", "a Transom_data b"])
def test_a_text_that_knows_a_mark_is_no_content(text: str) -> None:
    """The nonce or the stem in a frame, which may end it: not seen, and refused by who looks."""
    came, sent = dump(result(text)), dump(result(inside(text)))
    assert seen(came, sent, [ROW], [text]) is None
    assert not Frames(Claimed({0: ROW}), {0: text}).meet(text, inside(text))


def test_only_letters_that_are_known_become_those_of_the_stem() -> None:
    """A text without any of them next to each other needs no closer look."""
    near = {char for char in map(chr, range(0x110000)) if set(char.casefold()) & set("m_data")}
    assert near == set("mM_dDaAtT") | {"\u1e9a", "\u1e97"} | {"\ufb05", "\ufb06"}
    assert not any(set(char.casefold()) & set("m_d") for char in near - set("mM_dDaAtT"))


def test_a_letter_that_becomes_two_may_end_the_stem() -> None:
    """Whatever letter stands for one of the stem: a text that spells it so is no content."""
    for place, letter in enumerate(STEM):
        for char in map(chr, range(0x110000)):
            if letter in (folded := char.casefold()) and folded != char:
                text = STEM[:place] + char + STEM[place + 1 :]
                raw = dump(result(text)), dump(result(inside(text)))
                assert (seen(*raw, [ROW], [text]) is None) == (STEM in text.casefold()), text


def test_a_frame_in_the_place_of_a_key_fails() -> None:
    """A text that is also the name of a member: the name is not what was claimed to be framed."""
    client = {"messages": [{"role": "user", "file": "file"}]}
    body = {"messages": [{"role": "user", inside("file"): "file"}]}
    with pytest.raises(ProofFailed):
        prove(
            dump(body),
            client_body=dump(client),
            screened=screened(dump(client)),
            texts={0: "file"},
            claimed=Claimed({0: ROW}),
            authored=(),
        )


def test_a_framed_message_with_a_key_twice_fails() -> None:
    """Of two contents the upstream may read the one that is not framed."""
    came = b'{"messages":[{"role":"user","content":"file","content":"file"}]}'
    first = dump(inside("file"))
    assert prove_one(came.replace(b',"content":"file"', b"", 1), first)
    with pytest.raises(ProofFailed):
        prove_one(came, first)


def prove_one(came: bytes, literal: bytes) -> object:
    """The body with its first `"file"` exchanged; all of it counts as screened."""
    every = type("Every", (frozenset,), {"__contains__": lambda self, item: True})()
    return prove(
        came.replace(b'"file"', literal, 1),
        client_body=came,
        screened=Screened(every),
        texts={0: "file"},
        claimed=Claimed({0: ROW}),
        authored=(),
    )


TEXTS = st.sampled_from(["", "a", "b", '"', "\\", ",", '","', "a\nb", "ü", "transom_data", NONCE])
CHANGES = st.sampled_from(["", "", "", "text", "order", "twice", "key", "beside"])


@given(st.lists(TEXTS, min_size=1, max_size=4), st.lists(st.booleans(), max_size=4), CHANGES)
@settings(max_examples=300)
def test_what_is_seen_is_what_the_comparison_of_values_sees(
    texts: list[str], marked: list[bool], change: str
) -> None:
    """Whatever is framed, and however it is tampered with: seen at a glance only where values say
    the same, and then the same frames were met."""
    units = {n: text for n, text in enumerate(texts) if [*marked, *[False] * 4][n]}
    rows = {n: replace(ROW, nonce=f"{n:032x}", intro=not n) for n in units}
    words = [inside(t, rows[n]) if n in units else t for n, t in enumerate(texts)]
    message = result(*words)
    blocks = message["content"]
    assert isinstance(blocks, list)
    match change:
        case "text":
            blocks[-1]["content"] += "x"
        case "order":
            blocks.reverse()
        case "twice":
            blocks.append(blocks[0])
        case "key":
            blocks[0] = {blocks[0]["content"]: "tool_result"}
        case "beside":
            message["role"] = "assistant"
    came, sent = dump(result(*texts)), dump(message)
    quick, slow = (Frames(Claimed(rows), units) for _ in range(2))
    if quick.meet_spelled(came, sent):
        Values(slow, frozenset()).same(own.parsed(came), own.parsed(sent), "message")
        assert quick.met == slow.met
        assert quick.left == slow.left
    else:
        assert not quick.met
        assert change or not units or {"transom_data", NONCE} & {*units.values()}


def test_frames_are_seen_behind_ones_that_took_a_closer_look() -> None:
    """A text that spells the stem is compared; the next message is seen by its spelling again."""
    texts = {0: "a TRANSOM_DATA b", 1: "text"}
    rows = dict.fromkeys(texts, ROW)
    frames = Frames(Claimed(rows), texts)
    assert frames.meet(texts[0], inside("a transom-data-marker-removed b"))
    assert frames.meet_spelled(dump(result("text")), dump(result(inside("text"))))
    assert not frames.left


def test_frames_are_seen_round_one_that_took_a_closer_look() -> None:
    """The text between two of them was compared first."""
    texts = {0: "one", 1: "a TRANSOM_DATA b", 2: "two"}
    frames = Frames(Claimed(dict.fromkeys(texts, ROW)), texts)
    assert frames.meet(texts[1], inside("a transom-data-marker-removed b"))
    found = frames.meet_spelled(
        dump(result("one", "two")), dump(result(inside("one"), inside("two")))
    )
    assert found is not None
    assert [*found.numbers] == [0, 2]
    assert not frames.left


WORDS = st.sampled_from(
    ["", "a", '"', "\\", ",", ":", '":"', '","', "{", "}", "]", 'a"b', '\\"', "ü"]
)
VALUES = st.recursive(
    WORDS | st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(WORDS, VALUES, min_size=1, max_size=3), st.booleans(), st.data())
@settings(max_examples=400)
def test_wherever_a_frame_is_cut_in_it_is_seen_only_where_values_have_it(
    value: dict[str, object], letters: bool, data: st.DataObject
) -> None:
    """Between any two quotation marks of any message, whatever these are, as long as JSON comes of
    it: strings, ends of strings, keys, and what stands between two strings."""
    came = json.dumps(value, separators=(",", ":"), ensure_ascii=letters).encode()
    marks = [at for at, byte in enumerate(came) if byte == ord('"')]
    if len(marks) < 2:
        return
    first = data.draw(st.integers(0, len(marks) - 2))
    last = data.draw(st.integers(first + 1, len(marks) - 1))
    start, stop = marks[first], marks[last] + 1
    content = came[start + 1 : stop - 1]
    head, tail = dump(inside("#")).split(b"#")
    sent = came[:start] + head + content + tail + came[stop:]
    try:
        text = json.loads(b'"%b"' % content)
        before, after = own.parsed(came), own.parsed(sent)
    except ValueError:
        return
    quick, slow = (Frames(Claimed({0: ROW}), {0: text}) for _ in range(2))
    if quick.meet_spelled(came, sent):
        Values(slow, frozenset()).same(before, after, "message")
        assert quick.met == slow.met
