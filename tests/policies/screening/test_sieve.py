"""The sieve against a reading of every string: what it lets go holds nothing, however written."""

import base64
import gzip
import html
import json
import quopri
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mnemonic import Mnemonic

from policies.conversation import Strand
from policies.screening import Screen, rules
from policies.screening.beside import APART
from policies.screening.sieve import Sieve, Sifted
from policies.screening.words import SHORTEST_FAR_RUN, SHORTEST_RUN, Words
from tests.policies.screening.laid import laid

DENIED = "Zq7xW2pL9rTf"
DENIED_WORDS = "what nobody may read\nat all"
SEED = Mnemonic("english").to_mnemonic(bytes(range(11, 27)))
SECRETS = (
    *(rule.yes[0].decode(errors="replace") for rule in rules.load()),
    *(Mnemonic(name).to_mnemonic(bytes(range(11, 27))) for name in ("korean", "czech")),
    SEED,
    DENIED,
    DENIED[::-1],
    DENIED_WORDS,
)
FILLERS = (
    "def read(self, name: str) -> bytes:\n    return self._files[name].read_bytes()\n",
    "The abandoned house about the lake was able to stand above it; nobody came for it.\n",
    '{"path": "src/reader.py", "limit": 200, "text": "line one\\nline two"}',
    "2026-11-03T10:12:44.123Z INFO id=7c9e6679-7425-40de-944b-e07fc1f90ae7 status=200\n",
    "Straße über die Brücke, naïve façade, настройка и данные, 設定 を 確認 して\n",
    "a", "", " ", "\n", "x=1", "AgEE", "word 1: ", "see 0a0b0c0d", "\x1b[1m", '"', "password=",
)  # fmt: skip


def _lined(text: str, before: Callable[[int], str]) -> str:
    coded = base64.b64encode(text.encode() + b" and more of it" * 8).decode()
    lines = textwrap.wrap(coded, 64)
    return "\n".join(f"{before(n)}{line}" for n, line in enumerate(lines, 1))


def _dumped(text: str) -> str:
    data = text.encode()
    rows = range(0, len(data), 16)
    return "\n".join(f"{at:08x}: {data[at : at + 16].hex(' ', 2)}  ........" for at in rows)


WRITTEN: Mapping[str, Callable[[str], str]] = {
    "as it is": str,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 twice": lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
    "base64 of UTF-16": lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "spaced hex": lambda text: text.encode().hex(":"),
    "dump": _dumped,
    "packed": lambda text: base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode(),
    "lines": lambda text: _lined(text, lambda _: ""),
    "line numbers": lambda text: _lined(text, lambda n: f"{n:6}\u2192"),
    "diff": lambda text: _lined(text, lambda _: "+"),
    "code points": lambda text: "".join(f"\\u{ord(char):04x}" for char in text),
    "JSON in JSON": lambda text: json.dumps({"a": json.dumps({"b": text})}),
    "in a string": lambda text: json.dumps(f"a\n{text}\tb"),
    "percent": lambda text: quote(text, safe=""),
    "every percent": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "references": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "entities": html.escape,
    "quoted-printable": lambda text: quopri.encodestring(text.encode()).decode(),
    "put together": lambda text: f'"{text[:9]}" + "{text[9:]}"',
    "over lines": lambda text: f'"{text[:9]}"\n  "{text[9:]}"',
    "broken": lambda text: f"{text[:11]}\\\n{text[11:]}",
    "spelled": " ".join,
    "numbers": lambda text: ", ".join(str(byte) for byte in text.encode()),
    "unseen": "\u200b".join,
    "wide": lambda text: "".join(
        chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text
    ),
    "alike": lambda text: text.replace("a", "\u0430").replace("e", "\u0435"),
    "tags": lambda text: "".join(chr(0xE0000 + ord(char)) for char in text if char < "\x7f"),
    "coloured": lambda text: f"{text[:5]}\x1b[31m{text[5:]}\x1b[0m",
    "nuls": "\0".join,
    "labels": lambda text: "\n".join(f"word {n}: {w}" for n, w in enumerate(text.split(), 1)),
}  # fmt: skip


@cache
def _screen() -> Screen:
    return Screen.build({"a": DENIED.encode(), "b": DENIED_WORDS.encode()})


@pytest.fixture
def screen() -> Screen:
    return _screen()


@st.composite
def requests(draw: st.DrawFn) -> list[list[Strand]]:
    """Messages of a few parts, in or across which something is written that may be a secret."""
    written = WRITTEN[draw(st.sampled_from(sorted(WRITTEN)))](draw(st.sampled_from(SECRETS)))
    cuts = sorted(draw(st.lists(st.integers(0, len(written)), max_size=3)))
    pieces = [written[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
    filler = st.lists(st.sampled_from(FILLERS), max_size=4).map("".join)
    texts = [draw(filler) * draw(st.sampled_from((1, 1, 9, 40)))]
    for piece in pieces:
        texts[-1] += piece
        texts.append(draw(st.sampled_from(("", "", " and so on"))))
    texts[-1] += draw(filler)
    request: list[list[Strand]] = [[]]
    for text in texts:
        if request[-1] and draw(st.integers(0, 2)) == 0:
            request.append([])
        at = ("messages", len(request) - 1, "content", len(request[-1]))
        if draw(st.integers(0, 9)) == 0:
            request[-1].append(Strand((*at[:3], text), text, is_key=True))
        else:
            name = draw(st.sampled_from(("text", "text", "content", "id", "data", "note")))
            request[-1].append(Strand((*at, name), name, is_key=True))
            request[-1].append(Strand((*at, name), text))
    return request


@settings(max_examples=250)
@given(request=requests())
def test_what_the_sieve_lets_go_holds_nothing(request):
    """Every string, piece and seam: the same findings with it as without it."""
    screen = _screen()
    pieces = dict(enumerate(request))
    seams = [(left, left + 1) for left in range(len(request) - 1)]
    suspects = screen.suspects(laid(pieces), pieces.keys(), seams)
    for number, piece in pieces.items():
        plain = screen.findings(piece)
        fast = screen.findings(piece, suspects.alone.get(number, set()))
        assert fast == plain
    for at, (left, right) in enumerate(seams):
        if at not in suspects.seams:
            assert screen.seam(pieces[left], pieces[right]) == ()


@settings(max_examples=100)
@given(request=requests())
def test_what_is_asked_of_small_texts_at_once_is_what_each_test_says(request):
    """Only that more of them may have their escapes undone, and then nothing else is let go."""
    sieve = _screen().sieve
    texts = [strand.text for piece in request for strand in piece]
    quick = sieve.sift(texts)
    left = sieve.remaining(_tested(texts, quick))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("policies.screening.sieve._SMALL", -1)
        slow = sieve.sift(texts)
        assert sieve.remaining(_tested(texts, slow)) <= left
    assert slow.tested <= quick.tested
    assert replace(quick, tested=slow.tested) == slow


def _tested(texts: Sequence[str], sifted: Sifted) -> dict[int, str]:
    return {at: texts[at] for at in sifted.tested - sifted.kept}


@settings(max_examples=60)
@given(request=requests(), known=st.integers(0, 1))
def test_the_end_of_what_is_known_counts(request, known):
    """Messages of which only the ends are looked at, because they were read before."""
    screen = _screen()
    pieces = dict(enumerate(request))
    seams = [(left, left + 1) for left in range(len(request) - 1)]
    read = [number for number in pieces if number % 2 == known]
    suspects = screen.suspects(laid(pieces), read, seams)
    assert suspects.alone.keys() <= set(read)
    for at, (left, right) in enumerate(seams):
        if at not in suspects.seams:
            assert screen.seam(pieces[left], pieces[right]) == ()


@pytest.mark.parametrize("written", sorted(WRITTEN))
def test_every_way_of_writing_is_met(screen, written):
    """Each in its own string, among texts that hold nothing: some secret is found in each."""
    found = 0
    for secret in SECRETS:
        strands = [Strand(("messages", 0, "content", 0, "text"), WRITTEN[written](secret))]
        plain = screen.findings(strands)
        alone = screen.suspects(laid({0: strands}), [0]).alone
        assert screen.findings(strands, alone.get(0, set())) == plain
        found += bool(plain)
    assert found >= 3


def test_a_run_of_words_ends_what_it_calls_for(screen):
    """Two texts of words, ordinary ones before, between and behind: those two are kept."""
    seed = SEED
    texts = ["nothing in here", seed, "nor here", seed, "nor in this one"] * 3
    kept = screen.sieve.sift(texts).kept
    assert kept == {n for n, text in enumerate(texts) if text == seed}


def test_every_word_of_the_far_east_is_counted():
    """The bytes by which texts without any are told apart stand in each of them."""
    words = Words.load()
    assert all(words.far_run(b" ".join([word] * 12)) for word in words.far)
    assert min(map(len, words.latin)) * 12 + 11 == SHORTEST_RUN
    assert SHORTEST_FAR_RUN == 12 + 11
    assert not words.far_run("größer über Häuser — “so” ".encode() * 9)


def test_escapes_that_say_nothing_call_for_no_reading(screen):
    """Undone, again and again, as far as a reading would; what goes on for longer is read."""
    sieve: Sieve = screen.sieve
    code = 'print("a\\nlonger-line-of-text\\tfor all of it")\n'
    deep = code
    for _ in range(4):
        deep = json.dumps({"deeper": deep})
    secret = WRITTEN["code points"](SECRETS[0])
    texts = dict(enumerate([code, deep, secret, f"{code}{DENIED}", code + SEED]))
    sifted = sieve.sift(list(texts.values()))
    assert sifted.tested == {0, 1, 2, 3, 4}
    assert sifted.kept == {3, 4}
    assert sieve.remaining({n: texts[n] for n in (0, 1, 2)}) == {1, 2}
    assert APART not in deep


@settings(max_examples=150)
@given(
    parts=st.lists(
        st.tuples(st.sampled_from(("run", "hex", "line", "text", "far")), st.integers(0, 900)),
        min_size=1,
        max_size=9,
    )
)
@example(parts=[("far", 0), ("far", 1)])
@example(parts=[("run", 0), ("far", 1), ("hex", 0)])
def test_runs_are_met_wherever_they_stand(parts):
    """Few among much else or much of it, at the beginning, at the end, several in a text."""
    screen = _screen()
    coded = base64.b64encode(b"a text of some length for all to read").decode()
    written = {
        "run": f" {coded} ",
        "hex": f"({coded.encode().hex()})",
        "line": f"{'A1b2' * 12}\n",
        "text": "",
        "far": ("zz_" * 9 + " ") * 20,
    }
    texts = [written[kind] + " of it is" * size for kind, size in parts]
    texts += [" of it is" * size + written[kind] for kind, size in parts]
    expected = {n for n, (kind, _) in enumerate(parts * 2) if kind in ("run", "hex", "line")}
    assert screen.sieve.sift(texts).kept == expected


@pytest.mark.parametrize("before", range(0, 25, 3))
def test_short_texts_side_by_side_are_no_long_run(before):
    """Not even where those of one length lie so that a look now and then meets none of what is
    between them; a run that begins behind them is met all the same."""
    sieve = _screen().sieve
    short = ["." * before, *(f"{number:022}" for number in range(90))]
    assert sieve.sift(short) == Sifted()
    behind = len(short)
    texts = [*short, "-_" * 512, *short]
    assert sieve.sift(texts) == Sifted(kept={behind})
    assert sieve.sift([*short, "-_" * 470, *short]) == Sifted()


def test_an_anchor_that_holds_nothing_calls_for_no_reading():
    """What stands there is looked at in passing; one that is a part of something may still go on
    behind the end of its text."""
    sieve = _screen().sieve
    far = "a line of a text that holds nothing at all\n" * 200
    assert sieve.sift([f"{far}password = os.environ_password_of_it\n{far}"]) == Sifted()
    assert sieve.sift([f"{far}S{'2aB' * 7}\n{far}"]) == Sifted()
    assert sieve.sift([f"{far}S{'2aB' * 7}"]) == Sifted(open={0})


def test_anchors_that_cost_too_much_are_kept():
    """Who reads them says that they are ambiguous."""
    assert _screen().sieve.sift(["nsec1 " * 3000]).kept == {0}


@pytest.mark.parametrize(("apart", "kept"), [(100, {0}), (200, set())])
def test_a_look_at_anchors_is_short_beside_a_reading(apart, kept):
    """Else a text that is made to be hard would cost twice as much."""
    assert _screen().sieve.sift(["nsec1 ".ljust(apart) * 1000]).kept == kept
