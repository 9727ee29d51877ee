"""What is laid side by side: ends that meet, what is shared, what is known already."""

from collections.abc import Sequence
from re import _parser as parser

import pytest
from mnemonic import Mnemonic

from policies.conversation import Strand
from policies.screening import Own, Screen, rules
from policies.screening.parts import SEAM
from policies.screening.sifting import ACROSS, WIDEST
from tests.policies.screening.laid import laid

DENIED = "Zq7xW2pL9rTf"
SEED = Mnemonic("english").to_mnemonic(bytes(range(11, 27)))
SECRETS = [rule.yes[0].decode(errors="replace") for rule in rules.load()]


@pytest.fixture(scope="module")
def screen() -> Screen:
    return Screen.build({"a": DENIED.encode()})


def _filled(size: int) -> str:
    return "a line of a text that holds nothing at all\n" * (size // 43 + 1)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (DENIED[:6], DENIED[6:]),
        (SECRETS[0][:20], SECRETS[0][20:]),
        (SEED[:40], SEED[40:]),
    ],
    ids=["denied", "anchored", "words"],
)
@pytest.mark.parametrize("size", [1 << 17, 1 << 14])
def test_ends_meet_where_the_sieve_begins_anew(screen, left, right, size):
    """However much is gone over at once, nothing is lost between one stretch and the next."""
    texts = [_filled(1000), _filled(size) + left, f"{right} {_filled(1000)}", _filled(size)]
    piece = [Strand(("messages", 0, "content", n, "text"), text) for n, text in enumerate(texts)]
    apart = {n: [strand] for n, strand in enumerate(piece)}
    seams = [(n, n + 1) for n in range(len(texts) - 1)]
    plain = screen.findings(piece)
    assert plain
    assert screen.findings(piece, screen.suspects(laid({0: piece}), [0]).alone[0]) == plain
    assert 1 in screen.suspects(laid(apart), apart.keys(), seams).seams


@pytest.mark.parametrize("rule", ["cashu-raw-hex", "der-base64"])
def test_what_begins_across_ends_is_looked_for_behind_the_next_end(screen, rule):
    """The anchor stands in the ends of two messages, and what it begins ends in a third one, which
    alone is new."""
    whole = next(each.yes[0] for each in rules.load() if each.id == rule).decode()
    parts = [whole[:8], whole[8:-4], whole[-4:]]
    assert WIDEST < len(parts[1]) < SEAM
    pieces = {n: [Strand(("messages", n, "content"), part)] for n, part in enumerate(parts)}
    assert screen.seam([*pieces[0], *pieces[1]], pieces[2])
    assert screen.suspects(laid(pieces), [2], [(0, 2)]).seams == {0}


@pytest.mark.parametrize("whole", [DENIED, SEED], ids=["denied", "words"])
def test_one_secret_goes_across_a_short_message_that_is_known(screen, whole):
    """It was read before, and has others on both sides now: they meet across it as it stands."""
    cuts = sorted({whole.find(" ", len(whole) // 3), whole.find(" ", len(whole) // 2)})
    cuts = cuts if cuts[0] > 0 else [4, 8]
    parts = whole[: cuts[0]], whole[cuts[0] : cuts[1]], whole[cuts[1] :]
    pieces = {n: [Strand(("messages", n, "content"), part)] for n, part in enumerate(parts)}
    assert screen.seam([*pieces[0], *pieces[1]], pieces[2])
    assert 1 in screen.suspects(laid(pieces), [0, 2], [(0, 1), (0, 2)]).seams


def test_no_anchor_is_wider_than_what_is_looked_at():
    """Else one could go across the ends of two texts unseen."""
    for rule in rules.load():
        for pattern, _ in rule.patterns():
            width = parser.parse(pattern.bounded).getwidth()[1]
            assert width <= WIDEST or not rule.sure, rule.id


@pytest.mark.parametrize("around", ["", _filled(500)], ids=["alone", "in text"])
def test_samples_of_all_rules_are_met_whole_and_parted(screen, around):
    """A suspicion leads to the same as reading everything; where a telling word is needed there is
    none across the ends of texts, for nothing is found there."""
    for rule in rules.load():
        sample = rule.yes[0].decode(errors="replace")
        for cut in (0, len(sample) // 3, len(sample) // 2):
            texts = (f"{around} {sample[:cut]}", f"{sample[cut:]} {around}")
            piece = [Strand(("messages", 0, "content", n, "text"), t) for n, t in enumerate(texts)]
            told = screen.suspects(laid({0: piece}), [0]).alone.get(0, set())
            assert screen.findings(piece, told) == screen.findings(piece), rule.id
            if cut == 0 and rule.id == "url-login":
                assert told == {1}


def test_credentials_are_looked_for_in_all_that_is_read(screen):
    """And in nothing else."""
    key = "-".join(["a", "key", "of", "the", "caller", "4711"])
    own = Own.of([f"Bearer {key}"])
    pieces: dict[int, Sequence[Strand]] = {
        n: [Strand(("messages", n, "content"), text)] for n, text in enumerate(["a", key, "b"])
    }
    assert screen.suspects(laid(pieces), pieces.keys(), own=own).own
    del pieces[1]
    assert not screen.suspects(laid(pieces), pieces.keys(), own=own).own


def test_keys_that_pieces_share_are_looked_at_for_all_of_them(screen):
    """Alone and across: each piece that has them."""

    def piece(number: int, *keys: str) -> list[Strand]:
        at = ("messages", number)
        named = [Strand((*at, key), key, is_key=True) for key in keys]
        return [strand for key in named for strand in (key, Strand(key.address, "a"))]

    split = [DENIED[:6], DENIED[6:]]
    pieces = {0: piece(0, *split), 1: piece(1, DENIED), 2: piece(2, *split), 3: piece(3, "text")}
    alone = screen.suspects(laid(pieces), pieces.keys()).alone
    assert {number for number, those in alone.items() if those and ACROSS in those} >= {0, 2}
    assert 3 not in {number for number in alone if screen.findings(pieces[number])}
    assert all(screen.findings(pieces[n], alone[n]) for n in (0, 1, 2))


def test_what_has_no_parts_is_looked_at_once_for_all_who_hold_it(screen):
    """A call and its result have one id: each of them is told of it, and nobody else."""

    def piece(number: int, *ids: str) -> list[Strand]:
        at = ("messages", number, "content")
        return [Strand((*at, n, "id"), each) for n, each in enumerate(ids)]

    pieces = {0: piece(0, "call_0001", DENIED), 1: piece(1, DENIED, DENIED), 2: piece(2, "call_1")}
    alone = screen.suspects(laid(pieces), pieces.keys()).alone
    assert alone == {0: {1}, 1: {0, 1}}
    assert len(screen.findings(pieces[1], alone[1])) == 2


def test_keys_that_are_words_of_a_list_are_no_seed(screen):
    """Names of fields stand in rows, and values between them."""
    at = ("messages", 0, "content")
    named = [(n, name) for n in range(12) for name in ("type", "text")]
    pairs = [(Strand((*at, n, k), k, is_key=True), Strand((*at, n, k), "it is")) for n, k in named]
    piece = [strand for pair in pairs for strand in pair]
    assert screen.suspects(laid({0: piece}), [0]).alone == {}


def test_a_denied_value_of_letters_alone_is_looked_for_where_ends_meet():
    """Such a one counts only as it is, so that it is not met among texts without their blanks."""
    screen = Screen.build({"a": b"gravelous"})
    at = ("messages", 0, "content")
    piece = [Strand((*at, n, "text"), text) for n, text in enumerate(["a grav", "elous b"])]
    plain = screen.findings(piece)
    assert plain
    assert screen.findings(piece, screen.suspects(laid({0: piece}), [0]).alone[0]) == plain
