"""The owner's own files, found in every form in which they may turn up."""

import base64
import html
import json
import random
import string
from urllib.parse import quote, quote_plus

import pytest

from policies.conversation import Strand
from policies.screening import Screen
from policies.screening.deny import literals, looked_for

VALUE = "Zq7xW2pL9rTf"
ODD = 'p"a\\ss w&rd/x9+'
LONG = "k3Jw9Qp" * 4 + "mVx2Lr8Tn5" * 5


@pytest.fixture(scope="module")
def screen() -> Screen:
    return Screen.build(
        {"token": f"{VALUE}\n".encode(), "long": LONG.encode(), "odd": ODD.encode()}
    )


def denied(screen: Screen, text: str) -> bool:
    found = screen.findings([Strand(("messages", 0, "content"), text)])
    return "deny_file" in {finding.kind for finding in found}


FORMS = {
    "escaped for JSON": json.dumps(ODD)[1:-1],
    "escaped for a shell": quote(ODD),
    "in an address": quote(ODD, safe=""),
    "in a form": quote_plus(ODD),
    "in HTML": html.escape(ODD),
    "over two lines": f"{VALUE[:6]}\n   {VALUE[6:]}",
    "a long one over lines": "\n".join(LONG[at : at + 20] for at in range(0, len(LONG), 20)),
    "its base64, in short lines": "\n".join(
        base64.b64encode(VALUE.encode()).decode()[at : at + 8] for at in (0, 8)
    ),
    "in UTF-16": base64.b64encode(VALUE.encode("utf-16")).decode(),
    "in bytes": str(list(LONG.encode())),
    "in quoted-printable": "".join(f"={b:02X}" for b in VALUE.encode()),
    "as it is": VALUE,
    "reversed": VALUE[::-1],
    "in a sentence": f"the token is {VALUE}, keep it",
    "glued to others": f"xx{VALUE}yy",
    "in base64": base64.b64encode(VALUE.encode()).decode(),
    "in base64 among others, one": base64.b64encode(f"a{VALUE}z!".encode()).decode(),
    "in base64 among others, two": base64.b64encode(f"ab{VALUE}z!".encode()).decode(),
    "in base64 twice": base64.b64encode(base64.b64encode(f"is {VALUE} ok?".encode())).decode(),
    "in hex": VALUE.encode().hex(),
    "in upper hex": VALUE.encode().hex().upper(),
    "in percent form": "".join(f"%{ord(c):02X}" for c in VALUE),
    "as character references": "".join(f"&#{ord(c)};" for c in VALUE),
    "in escapes": "".join(f"\\u{ord(c):04x}" for c in VALUE),
    "with zero width": "\u200b".join(VALUE),
    "in wide letters": "".join(chr(ord(c) + 0xFEE0) for c in VALUE),
    "in colours": f"\x1b[31m{VALUE[:5]}\x1b[0m{VALUE[5:]}",
    "in JSON in JSON": json.dumps({"a": json.dumps({"b": VALUE})}),
    "put together": f"'{VALUE[:6]}' + '{VALUE[6:]}'",
    "a stretch of a long one": LONG[32:64],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_known_in_every_form(screen, form):
    """Raw and reversed by themselves; encodings through the views and the alignments."""
    assert denied(screen, FORMS[form])


@pytest.mark.parametrize("size", [14, 40])
def test_very_many_values_are_known_in_every_form(size):
    """Thousands of them; what the views decode is not coded beforehand."""
    noise = random.Random(size)
    signs = string.ascii_letters + string.digits
    values = ["".join(noise.choices(signs, k=size)) for _ in range(3000)]
    many = Screen.build({"f": "\n".join(values).encode()})
    for value in (values[0], values[-1]):
        for text in (
            value,
            value[::-1],
            value.encode().hex(),
            value.encode().hex().upper(),
            base64.b64encode(f"a{value} and more".encode()).decode(),
            base64.b64encode(f"it is {value}".encode("utf-16")).decode(),
            f"{value[:7]}\n{value[7:]}",
            json.dumps(list(f"it is {value}".encode())),
        ):
            assert denied(many, f"it is {text} so"), text
    assert not denied(many, f"it is {values[0][:-1]} so")


def test_other_text_is_not_denied(screen):
    """What is not in a file is not flagged."""
    assert not denied(screen, "a plain sentence about tokens and files")
    assert not denied(screen, VALUE[:-1])


@pytest.mark.parametrize(
    "content",
    ["1\n", "true", "localhost:8080", "example.org", "/run/secrets/db", "https://example.org/x",
     "aaaaaaaaaaaaaaaa", "12345678.90", "production", "abababab", "-----BEGIN PUBLIC KEY-----",
     "", "   \n", "../some/path/to.file", "# just a comment that says something"],
)  # fmt: skip
def test_common_values_are_not_enforced(content):
    """A corpus that denied them would keep everything at home."""
    whole = literals({"f": content.encode()})
    assert not {value for value in whole if content.strip().encode() == value} or "#" in content
    assert not whole or "#" in content


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("password = Xk29fLm2pQ", "Xk29fLm2pQ"),
        ("DB_PASS='Xk29fLm2pQ'\nHOST=db", "Xk29fLm2pQ"),
        ("user: me\npassword: 'Xk29fLm2pQ'", "Xk29fLm2pQ"),
        ('{"a": {"b": ["Xk29fLm2pQ", 7, null]}}', "Xk29fLm2pQ"),
        ("db.lan:5432:app:me:Xk29fLm2pQ", "Xk29fLm2pQ"),
        ("machine x login me password Xk29fLm2pQ", "Xk29fLm2pQ"),
        ("correct horse\n", "correct horse"),
        ("Ünïcödé-gëhëïm", "Ünïcödé-gëhëïm"),
    ],
)
def test_values_are_taken_out_of_their_files(content, value):
    """Assignments, JSON leaves, fields of lines, pass phrases."""
    assert value.encode() in literals({"f": content.encode()})


def test_comments_and_armour_are_not_secrets():
    """A licence head or the first line of a key file must not become a denied text."""
    found = literals(
        {"f": b"# Licensed under the Apache License\n-----BEGIN X-----\nXk29fLm2pQ7b\n"}
    )
    assert not any(value == b"Apache License" or value.startswith(b"# ") for value in found
                   if b"\n" not in value and b"esneciL" not in value)  # fmt: skip
    assert b"-----BEGIN X-----" not in found
    assert b"Xk29fLm2pQ7b" in found


def test_binary_files():
    """A key in raw bytes is known in hex and base64."""
    raw = bytes(range(7, 47)) + b"\xff\x00\xfe"
    screen = Screen.build({"k": raw, "zero": bytes(64), "nul": b"Xk29\x00fLm2pQ7"})
    assert denied(screen, f"dump {raw.hex()}")
    assert denied(screen, f"blob {base64.b64encode(raw).decode()}")
    assert not denied(screen, bytes(64).hex())


def test_long_and_dull_stretches():
    """A long value is known by its parts; those that say nothing are left out."""
    noise = base64.b64encode(bytes(n * 7919 % 251 for n in range(1200))).decode()
    found = literals({"f": (noise + "a" * 64).encode()})
    assert noise[320:352].encode() in found
    assert b"a" * 32 not in found
    assert not any(len(value) > 4096 for value in found)


def test_short_values_have_short_forms():
    """Eight characters are enough where they are random."""
    assert b"x9Kq2Lm7" in literals({"f": b"x9Kq2Lm7"})
    assert not literals({"f": b"aaaabbbb"})


def test_hex_values_in_either_case():
    """A key that a file holds in lower-case hex is known in upper case."""
    key = "00ff" + "a1b2c3d4e5f60718" * 3
    screen = Screen.build({"k": key.encode()})
    assert denied(screen, key.upper())


def test_the_version_follows_the_corpus(screen):
    """A verdict is good for one corpus only."""
    assert Screen.build().version == Screen.build().version
    assert Screen.build().version != screen.version
    assert VALUE not in repr(screen)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [(VALUE.encode(), True), (b"password = x9Kq2Lm7", True),
     (bytes(range(7, 47)) + b"\xff\x00\xfe", True),
     (b"", False), (b"production\n", False), (b"1234", False)],
)  # fmt: skip
def test_a_file_in_which_nothing_can_be_looked_for_is_told(content, wanted):
    """What a screen would not deny in any form; the owner learns that such a file does nothing."""
    assert looked_for(content) is wanted
    assert bool(literals({"f": content})) is wanted
