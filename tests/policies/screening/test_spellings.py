"""Texts spelled in other ways: the screen reads them as a person or a program would."""

import base64
import json
import quopri
import re
from collections.abc import Callable

import pytest

from policies.conversation import Strand
from policies.screening import Screen, rules
from policies.screening.spellings import spellings
from policies.screening.work import Work
from proxy.demo.files import nsec

SAMPLES = [
    (rule.kind, sample.decode())
    for rule in rules.load()
    for sample in rule.yes
    if rule.reliability != "context" and len(sample) < 200 and sample.isascii()
]
SECRET = "Zq7xW2pL9rTf-vB4nKs8"


@pytest.fixture(scope="module")
def screen() -> Screen:
    return Screen.build({"f": SECRET.encode()})


def kinds(screen: Screen, text: str) -> set[str]:
    return {f.kind for f in screen.findings([Strand(("messages", 0, "content"), text)])}


def chunks(text: str, size: int) -> list[str]:
    return re.findall(rf"(?s).{{1,{size}}}", text)


def selectors(text: str) -> str:
    return "".join(chr(0xFE00 + b if b < 16 else 0xE0100 + b - 16) for b in text.encode())


WAYS: dict[str, Callable[[str], str]] = {
    "with blanks": lambda text: " ".join(text),
    "with dashes": lambda text: "-".join(text),
    "one in a line": "\n".join,
    "one in a line, by escapes": "\\n".join,
    "as a list": lambda text: str(list(text.replace("'", ""))),
    "in wide blanks": lambda text: "  ".join(text),
    "as a list of numbers": lambda text: json.dumps(list(text.encode())),
    "as a list of numbers, one in a line": lambda text: json.dumps(list(text.encode()), indent=2),
    "as a buffer": lambda text: json.dumps({"type": "Buffer", "data": list(text.encode())}),
    "as numbers": lambda text: " ".join(map(str, text.encode())),
    "in octal escapes": lambda text: "".join(f"\\{b:03o}" for b in text.encode()),
    "in UTF-16, coded": lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
    "in UTF-16 with a mark": lambda text: base64.b64encode(text.encode("utf-16")).decode(),
    "in UTF-16 of the other order": lambda t: base64.b64encode(t.encode("utf-16-be")).decode(),
    "in UTF-16, behind a word": lambda t: base64.b64encode(b"ab" + t.encode("utf-16")).decode(),
    "in UTF-16, in hex": lambda text: text.encode("utf-16-le").hex(),
    "in UTF-16, read as bytes": "\0".join,
    "quoted-printable": lambda text: quopri.encodestring(f"{text} == é".encode()).decode(),
    "quoted-printable, all": lambda text: "".join(f"={b:02X}" for b in text.encode()),
    "in small base32": lambda text: base64.b32encode(text.encode()).decode().lower(),
    "in base32 without padding": lambda t: base64.b32encode(t.encode()).decode().rstrip("="),
    "in tags": lambda text: "x" + "".join(chr(0xE0000 + ord(c)) for c in text),
    "in selectors": lambda text: f"😀{selectors(text)}",
    "in colours that are escaped": lambda text: "\\x1b[32m".join(chunks(text, 7)),
    "between invisible ones, escaped": lambda text: "\\u200b".join(chunks(text, 5)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_file_is_known_however_it_is_spelled(screen, way):
    """The deny corpus, in every spelling."""
    text = SECRET * 3 if "base32" in way or "coded" in way else SECRET
    assert "deny_file" in kinds(screen, f"it says {WAYS[way](text)} so")


@pytest.mark.parametrize("way", WAYS)
def test_most_kinds_are_known_however_they_are_spelled(screen, way):
    """Samples of the rules themselves, without their context; multi-line ones aside."""
    lines = [(kind, text) for kind, text in SAMPLES if "\n" not in text and " " not in text]
    missed = [kind for kind, text in lines if not kinds(screen, WAYS[way](text))]
    assert len(lines) > 40
    assert len(missed) <= len(lines) // 20, missed


BREAKS = [
    "\n", "\r\n    ", "\\\n", "=\n", '" +\n  "', "' . '", '", "', "\n   14\t", "\n> ",
    '" "', '""', '"\n     f"', '" b"', '" .. "', '" <> "', "' || '", '" & _\n  "',
    '" +\n13\t    "', '"\nsrc/a-b.py:13:    "', '",\nsrc/a-b.py-13-    "', '"\n   13→    + "',
]  # fmt: skip


@pytest.mark.parametrize("apart", BREAKS)
def test_a_value_that_goes_on_behind_a_break_is_one(screen, apart):
    """Wrapped lines, numbered lines, strings put together by code in several languages."""
    text = f"key: {nsec()[:40]}{apart}{nsec()[40:]} and so on"
    assert kinds(screen, text) == {"nostr_key"}
    assert not kinds(screen, text.replace(nsec()[40:44], "oops"))


def test_what_is_not_there_is_not_made():
    """Without a sign of it there is no view at all."""
    for name in ("cleaned", "alike", "quoted", "nuls", "spelled", "numbered", "nothing"):
        assert list(spellings(name, b"plain text", (), Work(100))) == []


def test_tables_and_rulers_are_no_secrets(screen):
    """What looks like the gates of these views and holds nothing."""
    rows = "\n".join(" ".join("0110100110" * 3) for _ in range(200))
    board = "\n".join(" | ".join("abcdefgh") for _ in range(90))
    pixels = json.dumps([[n * 7 % 256 for n in range(64)] for _ in range(50)])
    env = "".join(f"NAME_{n}=\nOTHER_{n}=3D{n}\n" for n in range(90))
    for text in (rows, board, pixels, env, "- " * 400, "=" * 900, "1. " * 300, "\0".join("abc")):
        assert kinds(screen, text) == set()


def test_a_key_file_of_solana_is_a_list_of_numbers(screen):
    """64 numbers of which the second half is the public key of the first."""
    secret = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    pair = list(bytes.fromhex(secret + public))
    assert "solana_key" in kinds(screen, json.dumps(pair))
    assert "solana_key" in kinds(screen, f"key file:\n{json.dumps(pair, indent=1)}")
    assert "solana_key" not in kinds(screen, json.dumps(pair[32:] + pair[:32]))
    assert "solana_key" not in kinds(screen, json.dumps(pair[:63]))
