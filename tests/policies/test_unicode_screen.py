"""Hidden characters are told where nobody needs them, and nowhere else."""

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import unicode_screen
from policies.conversation import Strand
from policies.decision import Finding
from policies.unicode_screen import KINDS, hidden, report

DATA = Path(__file__).parents[1] / "data" / "injection-dev.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]

NEEDED = {
    "foreign word with suffix": "PDF\u200c\u0647\u0627 5\u200c\u062a\u0627",
    "numbers under hebrew": "\u05e9\u05dd\n\u200e+972-50\u200e",
    "half m v": "\u00bd\u2062mv\u00b2, x\u00b2\u2062y, log\u2081\u2080\u2061x",
    "f prime": "f\u2032\u2061(x), cos\u2061 t",
    "script letter": "\U0001d49c\ufe00",
    "phone in brackets": "\u2066+(49) 30 1234\u2069",
    "joiner after a number": "5%\u2060/\u2060h",
    "family": "\U0001f468\U0001f3fd\u200d\U0001f469\U0001f3fb\u200d\U0001f467\u200d\U0001f466",
    "heart fire": "\u2764\ufe0f\u200d\U0001f525",
    "eye": "\U0001f441\ufe0f\u200d\U0001f5e8\ufe0f",
    "rainbow": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "trans": "\U0001f3f3\ufe0f\u200d\u26a7\ufe0f",
    "health": "\U0001f469\U0001f3ff\u200d\u2695\ufe0f",
    "pilot": "\U0001f9d1\u200d\u2708\ufe0f",
    "bear": "\U0001f43b\u200d\u2744\ufe0f",
    "hands": "\U0001f9d1\U0001f3fb\u200d\U0001f91d\u200d\U0001f9d1\U0001f3ff",
    "kiss": "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f48b\u200d\U0001f468",
    "bird": "\U0001f426\u200d\u2b1b",
    "chain": "\u26d3\ufe0f\u200d\U0001f4a5",
    "nod": "\U0001f642\u200d\u2195\ufe0f",
    "detective": "\U0001f575\ufe0f\u200d\u2640\ufe0f",
    "walk right": "\U0001f6b6\u200d\u27a1\ufe0f",
    "walk2": "\U0001f6b6\U0001f3fd\u200d\u2640\ufe0f\u200d\u27a1\ufe0f",
    "keycaps": "#\ufe0f\u20e3 *\ufe0f\u20e3 0\ufe0f\u20e3",
    "text style": "\u260e\ufe0e \u2665\ufe0e \u00a9\ufe0f \u2122\ufe0f",
    "wales": "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
    "persian": "\u062e\u0627\u0646\u0647\u200c\u0627\u06cc \u0645\u06cc\u200c\u062e\u0648",
    "persian harakat": "\u06a9\u0650\u062a\u0627\u0628\u0650\u200c\u0647\u0627",
    "kurdish": "\u0628\u0647\u200c\u0631\u06ce\u0632",
    "urdu": "\u0639\u0644\u0645\u200c\u0627\u0644\u0627\u0639\u062f\u0627\u062f",
    "arabic zwj": "\u0647\u200d",
    "form at the end of a word": "\u200d\u0647 and \u200d\u0640\u0647\u0640\u200d",
    "digits that turn": "\u061c\u0661\u0662\u066a",
    "arabic alm": "\u061c123 \u0631\u064a\u0627\u0644",
    "heb": "\u05d4\u05de\u05d7\u05d9\u05e8 \u200e$25\u200e \u05db\u05d5\u05dc\u05dc",
    "heb2": "(\u05e9\u05dc\u05d5\u05dd)\u200f.",
    "rli": "\u05e8\u05d0\u05d4 \u2067\u05e2\u05de\u05d5\u05d3 3\u2069 \u05db\u05d0\u05df",
    "nested": "\u05e9\u05dc\u05d5\u05dd \u2068a \u2067\u05d1\u2069 c\u2069",
    "lre": "\u05e7\u05d5\u05d1\u05e5 \u202aC:\\a\u202c \u05db\u05d0\u05df",
    "iso arab": "Name: \u2068\u0645\u062d\u0645\u062f\u2069, 25",
    "hindi": "क\u094d\u200cष क\u094d\u200dष",
    "kannada": "ನ\u0ccd\u200cನ ರ\u200d\u0ccdಯ",
    "bengali": "র\u200d\u09cdয\u09beব উদ\u09cd\u200cয\u09beপন",
    "malayalam": "അവന\u0d4d\u200d നന\u0d4d\u200cമ",
    "telugu": "ర\u0c3eజ\u0c4d\u200cక\u0c41మ\u0c3eర\u0c4d",
    "sinhala": "ශ\u0dca\u200dර\u0dd3",
    "tamil": "க\u0bcd\u200cஷ",
    "gujarati": "શક\u0acd\u200cત\u0abf",
    "nepali": "गर\u094d\u200dय\u094b",
    "marathi": "दऱ\u094d\u200dय\u093e",
    "odia": "କ\u0b4d\u200cଷ",
    "punjabi": "ਸ\u0a4d\u200dਰ\u0a40",
    "lao": "ສະບາຍ\u200bດ\u0eb5",
    "burmese": "မ\u103cန\u103aမ\u102c\u200bဘ\u102cသ\u102c",
    "thai latin": "ใช\u0e49\u200bPython",
    "khmer": "ភ\u17b6ស\u17b6\u200bខ\u17d2ម\u17c2រ",
    "soft": "Donau\u00addampf\u00adschiff",
    "soft2": "Kranken\u00adversicherung",
    "soft cyr": "пере\u00adвозка\u00adми",
    "soft line": "Versiche\u00ad\nrung",
    "soft apos": "l'inter\u00adnationali\u00adsation",
    "soft dash": "Nord-Ost\u00adsee-Kanal",
    "bom": "\ufeff{}",
    "fa": "sin\u2061x",
    "ln": "ln\u2061(2\u2062x)",
    "times": "2\u2062π\u2062r",
    "sep": "a\u2063b",
    "minus": "f\u2061(x) = \u2212x",
    "plus": "3\u2064\u00bd",
    "log sin": "2\u2062sin\u2061(x)",
    "idx": "A\u2062(1\u2063j)",
    "wj": "10\u2060\u2013\u206020 km\u2060/\u2060h",
    "narrow": "\u00ab\u202fOui\u202f\u00bb 1\u2009000",
    "ivs": "\u845b\U000e0100\u98fe\u533a \u8fbb\U000e0101",
    "vs1": "\u2268\ufe00 \u2229\ufe00 \u2295\ufe00 0\ufe00",
    "han vs1": "\u82b3\ufe00",
    "punct": "\u3002\ufe00",
    "hebrew cgj": "\u05d9\u05b0\u05e8\u05d5\u05bc\u05e9\u05b8\u05c1\u05dc\u05b7\u034f\u05b4\u05dd",
    "mong": "ᠠ\u180bᠭ\u180eᠠ",
    "phone1": "Call \u2068+49 30 123456\u2069 now",
    "phone2": "\u202a+1 (555) 010-9999\u202c",
    "phone3": "Tel.: \u2066030/1234567\u2069",
    "flags": "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7",
    "ru": "ёлка",
    "numbers": "\u0600123 \u06dd",
    "tatweel": "\u0645\u0640\u0640\u0640\u0631\u062d\u0628\u0627",
    "heb doc": "abc\n\u05e9\u05dc\u05d5\u05dd\u200f\ndef",
    "jp": "\u304b\u3099",
    "arabic ligature": "\ufdfa",
    "ps": "a\u2028b\u00a0c",
    "emoji run": "\U0001f600\U0001f603",
    "mixed rtl ltr": "Version \u200e1.2\u200e \u05d1\u05e2\u05d1\u05e8\u05d9\u05ea",
}

HIDDEN = {
    "two non-joiners": ("\u0645\u06cc\u200c\u200c\u062f", "invisible"),
    "operators in a word": ("ig\u2063no\u2063re", "invisible"),
    "tagsuffix": ("ok\U000e0041", "tag"),
    "texas": ("\U0001f3f4\U000e0075\U000e0073\U000e0074\U000e0078\U000e007f", "tag"),
    "lang": ("\U000e0001\U000e0065x", "tag"),
    "flag then payload": (
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f\U000e0041",
        "tag",
    ),
    "cancel alone": ("a\U000e007f", "tag"),
    "zwsp": ("pass\u200bword", "invisible"),
    "zwnj": ("ad\u200cmin", "invisible"),
    "zwj2": ("\U0001f469\u200d\u200d\U0001f467", "invisible"),
    "zwj before arabic in latin": ("a\u200d\u0647", "invisible"),
    "zwj before a latin word": ("a \u200db", "invisible"),
    "marks round plain digits": ("\u200e12\u200e", "invisible"),
    "zwj latin end": ("a\u200d", "invisible"),
    "zwj emoji end": ("\U0001f469\u200d", "invisible"),
    "emoji zwj letter": ("\U0001f469\u200da", "invisible"),
    "vs on letter": ("a\ufe0f", "invisible"),
    "vs run": ("\u263a\ufe0f\ufe00\ufe01", "invisible"),
    "vs17 emoji": ("\U0001f600\U000e0100", "invisible"),
    "vs digit": ("5\ufe0f", "invisible"),
    "ivs run": ("\u845b\U000e0100\U000e0101", "invisible"),
    "soft short": ("re\u00adset", "invisible"),
    "soft edge": ("forget\u00ad", "invisible"),
    "soft alone": (" \u00ad ", "invisible"),
    "soft letters": ("d\u00ade\u00adl\u00ade\u00adt\u00ade everything", "invisible"),
    "bom": ("x\ufeff", "invisible"),
    "bom twice": ("\ufeff\ufeffx", "invisible"),
    "wj": ("ig\u2060nore", "invisible"),
    "it": ("over\u2062ride", "invisible"),
    "fa": ("dis\u2061regard", "invisible"),
    "is run": ("1\u2063\u20632", "invisible"),
    "braille": ("a\u2800b", "invisible"),
    "ffa0": ("a\uffa0b", "invisible"),
    "115f": ("aᅟb", "invisible"),
    "cgj": ("pa\u034fss", "invisible"),
    "mvs": ("a\u180eb", "invisible"),
    "fvs": ("a\u180bb", "invisible"),
    "206a": ("\u206a", "invisible"),
    "2065": ("a\u2065b", "invisible"),
    "e0080": ("a\U000e0080", "invisible"),
    "fff0": ("a\ufff0b", "invisible"),
    "lrm latin": ("ad\u200emin", "invisible"),
    "rlm latin": ("x\u200f", "invisible"),
    "marks run": ("\u05e9\u05dc\u05d5\u05dd\u200e\u200f\u200e\u200fx", "invisible"),
    "rlo hebrew": ("\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c", "bidi"),
    "unbalanced heb": ("\u05e9\u05dc\u05d5\u05dd \u2067abc", "bidi"),
    "pdf alone": ("a\u202c", "bidi"),
    "pdi alone": ("\u05e9\u05dc\u05d5\u05dd\u2069", "bidi"),
    "over line": ("\u05e9\u05dc\u05d5\u05dd \u2067abc\n\u2069", "bidi"),
    "crossed": ("\u05e9\u05dc\u05d5\u05dd \u2067a\u202b\u05d1\u2069\u202c", "bidi"),
    "balanced latin": ("if \u2066x\u2069", "bidi"),
    "two phones": ("\u202a030 1234567\u202c \u202a030 1234567\u202c", "bidi"),
    "phone rle": ("\u202b030 1234567\u202c", "bidi"),
    "phone text": ("\u202adelete 12345\u202c", "bidi"),
    "musical": ("a\U0001d173b", "invisible"),
    "khmer": ("a\u17b4b", "invisible"),
    "zwnj+persian double": ("\u0645\u06cc\u200c\u200c\u062f", "invisible"),
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['id']}-{row['technique']}")
def test_the_labelled_sample_is_exact(row: dict[str, Any]) -> None:
    """Every listed kind on an attack, no other, and none on a benign line."""
    text = base64.b64decode(row["text_b64"]).decode()
    assert sorted(hidden(text)) == sorted(row["expected_structural"])


def test_the_sample_has_both_classes() -> None:
    """Fifty of each, or the test above proves less than it says."""
    assert [row["class"] for row in ROWS].count("attack") == 50
    assert [row["class"] for row in ROWS].count("benign") == 50


@pytest.mark.parametrize("text", NEEDED.values(), ids=NEEDED)
def test_what_a_writing_system_needs_is_not_told(text: str) -> None:
    """Emoji, Arabic, Indic and South-East Asian scripts, turning text, typography, mathematics."""
    assert hidden(text) == ()


@pytest.mark.parametrize(("text", "kind"), HIDDEN.values(), ids=HIDDEN)
def test_what_nobody_needs_is_told(text: str, kind: str) -> None:
    """The same characters one place away from where they are at home."""
    assert hidden(text) == (kind,)


@pytest.mark.parametrize("text", NEEDED.values(), ids=NEEDED)
def test_a_text_that_is_fine_hides_nothing_that_follows(text: str) -> None:
    """All kinds are told beside text in which the same characters are at home, in one order."""
    assert hidden(f"{text}\nx\u200by \U000e0041 \u202e") == KINDS


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_ascii_is_never_looked_at(text: str) -> None:
    """No character of it can hide."""
    assert hidden(text) == ()


@given(
    st.text(
        alphabet=st.one_of(
            st.sampled_from(
                "a5\u0627\u05d0\u0915\u094d\u0e01\u200b\u200c\u200d\u200e\u202a\u202c\u202e\u2066\u2069\u00ad"
                "\u2060\u2061\u2062\ufe0f\u20e3\U0001f3f4\U000e0067\U000e007f\U0001f469\u034f\ufeff\n\u0301"
            ),
            st.characters(),
        )
    )
)
def test_any_text_has_kinds_in_their_order(text: str) -> None:
    """Nothing crashes it, and each kind is told once."""
    found = hidden(text)
    assert list(found) == [kind for kind in KINDS if kind in found]


def test_a_finding_names_kind_and_place_and_no_key() -> None:
    """Keys are strings too; what they say is not told."""
    strands = [
        Strand(("messages", 0, "content"), "a\u200bb"),
        Strand(("messages", 1, "in\u200bput"), "fine"),
        Strand(("messages", 1, "in\u200bput"), "in\u200bput", is_key=True),
        Strand(("messages", 2, "content"), "\U000e0041\u202e"),
    ]
    assert report(strands) == (
        Finding("invisible", "messages[0].content", "unicode"),
        Finding("invisible", "messages[1].*", "unicode"),
        Finding("tag", "messages[2].content", "unicode"),
        Finding("bidi", "messages[2].content", "unicode"),
    )


def test_ascii_strings_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """They cost a look at a flag of the string."""

    def never(text: str) -> tuple[str, ...]:
        raise AssertionError(text)

    monkeypatch.setattr(unicode_screen, "hidden", never)
    assert report([Strand(("a",), "x" * 100_000)]) == ()


@pytest.mark.parametrize(
    "text",
    [
        "\u0915\u094d\u200d" * 60_000,
        "\u05d0" + "\u034f" * 200_000,
        "\u0627" + "\u0301\u200c" * 90_000,
        "ab\u00ad" * 60_000 + "abcd",
        "a" * 200_000 + "\u00ad",
        "\u05d0\u2067\u2069" * 60_000,
        "\u05d0" + "\u2067" * 100_000 + "\u2069" * 100_000,
        "\u05d0\u200e\n" * 60_000,
        "\u202a" + "1 " * 90_000,
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f" * 25_000,
        "1\u2062" * 90_000,
    ],
    ids=range(11),
)
def test_time_grows_with_the_length_and_no_faster(text: str) -> None:
    """No text is made that costs much more than its length, ten times the usual price allowed."""
    began = time.perf_counter()
    hidden(text)
    assert time.perf_counter() - began < 3
