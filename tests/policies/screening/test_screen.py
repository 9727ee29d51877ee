"""The screen as a whole: places, keys, pieces of one secret in several strings, bounds."""

from collections.abc import Mapping, Sequence, Set
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mnemonic import Mnemonic

from policies.conversation import Strand
from policies.screening import AMBIGUOUS, Screen, rules
from policies.screening.parts import SEAM
from policies.screening.screen import compiled, pack
from policies.screening.work import FACTOR, FLOOR, Work
from tests.policies.screening.laid import laid

SECRET = "Zq7xW2pL9rTf"
SAMPLES = {rule.id: rule.yes[0].decode() for rule in rules.load()}
SEED = Mnemonic("english").to_mnemonic(bytes(range(11, 27)))


@pytest.fixture(scope="module")
def screen() -> Screen:
    return Screen.build({"f": SECRET.encode()})


def test_rules_that_were_compiled_elsewhere_find_the_same(screen):
    """What another process hands over is as good as what is compiled here."""
    handed = Screen.build({"f": SECRET.encode()}, compiled(pack(first=True) | pack(first=False)))
    assert handed.version == screen.version
    for sample in (*SAMPLES.values(), SEED, SECRET, "nothing at all"):
        strand = Strand(("system",), sample)
        assert handed.findings([strand]) == screen.findings([strand])


def test_a_finding_names_kind_and_place_and_nothing_else(screen):
    """The value appears neither in the finding nor in what can be printed of the screen."""
    strand = Strand(("messages", 2, "content", 0, "input", "the path"), SAMPLES["nsec"])
    (finding,) = screen.findings([strand])
    assert (finding.kind, finding.place, finding.family) == (
        "nostr_key",
        "messages[2].content[0].input.*",
        "nostr",
    )
    assert SAMPLES["nsec"] not in repr(finding) + repr(strand)


def test_keys_are_read(screen):
    """A secret that is a key is found, and its place ends in a star."""
    for secret in (SAMPLES["github"], SECRET):
        (finding,) = screen.findings([Strand(("metadata", secret), secret, is_key=True)])
        assert finding.place == "metadata.*"


def test_a_telling_key_is_context(screen):
    """Twelve words without a checksum under a key that says what they are."""
    words = "sun moon river mountain ocean forest desert island winter summer orange apple"
    assert screen.findings([Strand(("input", "note"), words)]) == ()
    (finding,) = screen.findings([Strand(("input", "walletSeed"), words)])
    assert finding.kind == "bip39"


def test_words_with_labels(screen):
    """The gate for labels leads to the pass that leaves them out."""
    text = "\n".join(f"word {n}: {word}" for n, word in enumerate(SEED.split(), 1))
    assert [f.kind for f in screen.findings([Strand(("input",), text)])] == ["bip39"]


def test_one_word_per_string(screen):
    """A seed as an array of strings."""
    strands = [
        Strand(("messages", 0, "content", 0, "input", "words", n), word)
        for n, word in enumerate(SEED.split())
    ]
    (finding,) = screen.findings(strands)
    assert (finding.kind, finding.place) == ("bip39", "messages[0].content[0].input.*")


@pytest.mark.parametrize("sample", ["nsec", "aws-id", "github"])
def test_halves_in_neighbouring_strings(screen, sample):
    """A secret cut in two or three, with keys and types between the parts."""
    text = SAMPLES[sample]
    for cuts in ((7,), (5, 12)):
        bounds = [0, *cuts, len(text)]
        parts = [text[a:b] for a, b in pairwise(bounds)]
        strands = []
        for n, part in enumerate(parts):
            at = ("messages", 0, "content", n)
            strands += [
                Strand((*at, "type"), "type", is_key=True),
                Strand((*at, "type"), "text"),
                Strand((*at, "text"), part),
            ]
        (finding,) = screen.findings(strands)
        assert finding.place == "messages[0].content"


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_secret_in_several_keys(screen, count):
    """Keys side by side, with ordinary ones before and after; the place ends in no key."""
    secret = SAMPLES["nsec"]
    size = -(-len(secret) // count)
    keys = ["name", *(secret[at : at + size] for at in range(0, len(secret), size)), "type"]
    strands = [Strand(("metadata", key), key, is_key=True) for key in keys]
    (finding,) = screen.findings(strands)
    assert (finding.kind, finding.place) == ("nostr_key", "*")
    assert screen.findings(strands[:-2]) == ()


def test_halves_at_the_ends_of_long_strings(screen):
    """The join keeps head and tail of long strings."""
    text = SAMPLES["nsec"]
    long = "lorem ipsum " * 2000
    strands = [
        Strand(("messages", 0, "content", 0, "text"), long + text[:20]),
        Strand(("messages", 0, "content", 1, "text"), text[20:] + " " + long),
    ]
    assert [f.kind for f in screen.findings(strands)] == ["nostr_key"]


def test_seams(screen):
    """Across the end of one message and the start of the next, and only there."""
    text = SAMPLES["nsec"]
    before = [Strand(("messages", 0, "content"), "it is " + text[:20])]
    after = [Strand(("messages", 1, "content"), text[20:] + " yes")]
    (finding,) = screen.seam(before, after)
    assert (finding.kind, finding.place) == ("nostr_key", "messages[1]")
    assert screen.seam(before, []) == ()
    whole = [Strand(("messages", 1, "content"), text)]
    assert screen.seam(before, whole) == ()


@pytest.mark.parametrize("language", ["english", "japanese"])
def test_a_seed_across_two_messages(screen, language):
    """Its first words end one message and its last ones begin the next."""
    words = Mnemonic(language).to_mnemonic(bytes(range(11, 27))).replace("\u3000", " ").split()
    before = [Strand(("messages", 0, "content"), f"the first: {' '.join(words[:7])}\n")]
    after = [Strand(("messages", 1, "content"), f"{' '.join(words[7:])} that is all of it")]
    (finding,) = screen.seam(before, after)
    assert (finding.kind, finding.place) == ("bip39", "messages[1]")
    assert screen.findings([*before, *after]) != ()
    assert screen.seam(before, before) == ()


def test_in_colours_and_between_invisible_characters(screen):
    """What cleaning removes hides nothing, and cleaning itself hides nothing."""
    text = SAMPLES["nsec"]
    for dressed in (
        "\u200b".join(text),
        f"{text[:9]}\x1b[31m{text[9:]}",
        f"\x1b[{text}",
        "".join(chr(ord(c) + 0xFEE0) for c in text),
        text.replace("e", "\u0435").replace("c", "\u0441"),
    ):
        assert [f.kind for f in screen.findings([Strand(("input",), dressed)])] == ["nostr_key"]


HOSTILE = {
    "prefixes": "sk-proj-" * 30_000,
    "more prefixes": "glpat-" * 40_000,
    "key heads": "-----BEGIN PRIVATE KEY-----" * 9000,
    "token heads": "eyJ" * 80_000,
    "telling words": "secret key " * 20_000,
    "base58": ("K" + "z" * 51 + "/") * 4000,
    "words": "abandon ability " * 15_000,
    "one letter": "a" * 200_000,
    "backslashes": "\\" * 200_000,
    "percent": "%25" * 70_000,
    "references": "&#38;" * 40_000,
    "quotes": "'+'" * 70_000,
    "dumps": "00000000: 0a0a 0a0a\n" * 10_000,
    "escapes": "\x1b[" * 100_000,
    "unseen": "\u200b" * 70_000,
    "wrapped": ("A" * 64 + "\n") * 3000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_costs_what_its_length_allows(screen, name, monkeypatch):
    """No stage looks at more than its bound; what would is ambiguous and stays home."""
    made: list[Work] = []

    class Counted(Work):
        def __init__(self, size: int) -> None:
            super().__init__(size)
            made.append(self)

    monkeypatch.setattr("policies.screening.screen.Work", Counted)
    text = HOSTILE[name]
    screen.findings([Strand(("messages", 0, "content"), text)])
    size = len(text.encode())
    for work in made:
        assert work.limit == FACTOR * size >= max(work.spent.values(), default=0)


FRAGMENTS = [
    *(anchor.decode() for rule in rules.load() for anchor in rule.anchors),
    *("secret=", "password: ", "://a:b@", "abandon ", "word 1 ", "\\u0041", "\\\\", "%25", "&#38;"),
    *("=3D", "=\n", "\n", " ", "' + '", '", "', "\0", "\x1b[", "\u200b", "\U000e0041", "\ufe01"),
    *("00000000: 0a0a 0a0a\n", "0x41, ", "65, ", "a b ", "a-", "A" * 64 + "\n", "A" * 24, "MIIE"),
    *("AgEE", "eyJ", "H4sI", "data:image/png;base64,", "iVBORw0KGgo", "{", "[", '{"a":"', "\u30a2"),
    *("\u0430a", "\uff21", "   12\t", "+ ", "AAAA" * 9, "QUJD" * 12, "4142" * 16, "MFRGG" * 8),
]
HOSTILE_TEXTS = st.lists(
    st.tuples(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4), st.integers(1, 400)),
    min_size=1,
    max_size=4,
).map(lambda parts: "".join("".join(part) * times for part, times in parts))


@given(HOSTILE_TEXTS)
@settings(max_examples=150)
def test_no_text_costs_more_than_its_length_allows(text):
    """Whatever is put together of what the stages look for: each stays within its bound, or what
    costs more is ambiguous."""
    made: list[Work] = []

    class Counted(Work):
        def __init__(self, size: int) -> None:
            super().__init__(size)
            made.append(self)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("policies.screening.screen.Work", Counted)
        found = BARE.findings([Strand(("messages", 0, "content"), text)])
    size = len(text.encode())
    for work in made:
        assert work.limit == max(FACTOR * size, FLOOR) >= max(work.spent.values(), default=0)
    assert {f.family for f in found if f.kind == "work-exceeded"} <= {AMBIGUOUS}


BARE = Screen.build()


def test_joins_and_seams_are_bounded_too(screen):
    """Hostile text in pieces is ambiguous, not slow."""
    parts = [Strand(("messages", 0, "content", n, "text"), "glpat-" * 1500) for n in range(2)]
    (finding,) = {f for f in screen.findings(parts) if f.place == "messages[0].content[0].text"}
    assert finding.family == AMBIGUOUS
    small = [Strand(("messages", 0, "content", n, "text"), "glpat-" * 3) for n in range(9000)]
    assert {f.family for f in screen.findings(small)} == {AMBIGUOUS}


def test_a_seam_that_costs_too_much_is_ambiguous(screen, monkeypatch):
    """The work counter holds for seams as well."""

    class Spent(Work):
        def __init__(self, size: int) -> None:
            super().__init__(size)
            self.limit = 0

    monkeypatch.setattr("policies.screening.screen.Work", Spent)
    side = [Strand(("messages", 0, "content"), SAMPLES["nsec"])]
    (finding,) = screen.seam(side, side)
    assert (finding.kind, finding.family) == ("work-exceeded", AMBIGUOUS)


def test_a_seam_reaches_as_far_as_a_secret_may(screen):
    """Over several short strings, and not over a long one, behind which nothing goes on."""
    text = SAMPLES["nsec"]
    before = [Strand(("messages", 0, "content"), "it is " + text[:20])]

    def after(*texts: str) -> list[Strand]:
        return [Strand(("messages", 1, "content", n, "text"), t) for n, t in enumerate(texts)]

    assert screen.seam(before, after(text[20:30], text[30:], " yes")) != ()
    assert screen.seam(before, after("and so on " * (SEAM // 10 + 1), text[20:])) == ()


def sifted(screen: Screen, pieces: Sequence[Sequence[Strand]]) -> Mapping[int, Set[int] | None]:
    """What of the pieces is suspicious, each by itself."""
    return screen.suspects(laid(dict(enumerate(pieces))), range(len(pieces))).alone


def met(screen: Screen, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Set[int]:
    """Which pairs of messages, of these texts, have to be looked at where they meet."""
    texts = [side for pair in pairs for side in pair]
    pieces = {
        number: [Strand(("messages", number, "content", n), text) for n, text in enumerate(parts)]
        for number, parts in enumerate(texts)
    }
    seams = [(2 * at, 2 * at + 1) for at in range(len(pairs))]
    return screen.suspects(laid(pieces), range(len(pieces)), seams).seams


def test_the_sieve_lets_go_what_is_clean_and_nothing_else(screen):
    """One among many texts, alone, across strings, keys and messages: what a reading of every one
    by itself finds is found, and ordinary text is not read again."""
    plain = [(Strand(("messages", n, "content"), f"line {n} of a text\n" * 9),) for n in range(40)]
    assert sifted(screen, plain) == {}
    assert met(screen, [(["one text"], ["another text"])]) == set()
    held = SAMPLES["nsec"]
    at = ("messages", 40, "content")
    alone = (Strand(at, f"here: {held} there"),)
    split = (Strand((*at, 0, "text"), held[:30]), Strand((*at, 1, "text"), held[30:]))
    kept = sifted(screen, [*plain, alone, split, *plain])
    assert set(kept) == {40, 41}
    assert screen.findings(alone, kept[40]) == screen.findings(alone) != ()
    assert screen.findings(split, kept[41]) == screen.findings(split) != ()
    assert met(screen, [(["a"], ["b"]), ([held[:30]], [held[30:]])]) == {1}


@pytest.mark.parametrize("language", ["english", "japanese"])
def test_the_sieve_keeps_words_of_a_list_wherever_they_stand(screen, language):
    """Twelve in a row, among ordinary texts, in the letters of any list."""
    words = Mnemonic(language).to_mnemonic(bytes(range(11, 27)))
    plain = [(Strand(("messages", n, "content"), f"line {n} of a text\n" * 9),) for n in range(9)]
    held = (Strand(("messages", 9, "content"), words),)
    kept = sifted(screen, [*plain, held, *plain])
    assert 9 in kept
    assert screen.findings(held, kept[9]) == screen.findings(held) != ()


def test_the_sieve_keeps_long_runs_and_goes_on_behind_them(screen):
    """Each of several, with ordinary text between them."""
    run, plain = "QUJD" * 1200, "one line of a text\n" * 400
    texts = [run, plain, run, plain, plain, run + " \\u0041 " + run, plain, plain]
    kept = sifted(screen, [(Strand(("messages", n), text),) for n, text in enumerate(texts)])
    assert {0, 2, 5} <= set(kept)
    assert 7 not in sifted(screen, [(Strand(("messages", 7), plain),)] * 8)


def test_the_sieve_keeps_all_beside_a_denied_value_or_a_field_of_data():
    """A value of the secrets folder may lie anywhere in what was joined; a field named `data` may
    be a picture, which the fields beside it explain."""
    denied = Screen.build({"a": b"what nobody may read at all"})
    texts = ["a line", "it says what nobody may read at all, here"]
    assert 1 in sifted(denied, [(Strand(("m", n), text),) for n, text in enumerate(texts)])
    piece = (
        Strand(("m", "data"), "data", is_key=True),
        Strand(("m", "data"), "a line"),
        Strand(("m", "type"), "type", is_key=True),
        Strand(("m", "type"), "image/png"),
    )
    assert sifted(denied, [piece]) == {0: {1}}
