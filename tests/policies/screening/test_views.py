"""Views see through what stands between a secret and its reader."""

import pytest

from policies.screening import views
from policies.screening.engine import gates
from policies.screening.work import Work

SEEN = gates(views.GATES)
LINE = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2"


def work() -> Work:
    return Work(10**6)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain \t\n text", "plain \t\n text"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;link\x07text\x1b]8;;\x1b\\", "text"),
        ("a\u200bb\u2060c\u00add\ufe0f", "abcd"),
        ("\u202eabc\u2066", "abc"),
        ("\U000e0041x", "x"),
        ("ａｂｃ１２３", "abc123"),
        ("ﬁsh", "fish"),
        ("é\u0301", "é\u0301"),
    ],
)
def test_cleaning(text, clean):
    """Terminal codes and unseen characters go, wide and joined letters are spelled plainly."""
    assert views.clean(text) == clean


def test_letters_that_look_alike():
    """Cyrillic and Greek letters are read as Latin ones in a view of their own."""
    assert views.alike("ѕк-аnt") == "sk-ant"
    assert views.alike("plain") is None


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("    12\t{}", "{}"),
        ("    12\u2192{}", "{}"),
        ("12:{}", "{}"),
        ("12| {}", "{}"),
        ("  12 | {}", "{}"),
        ("  12 \u2502 {}", "{}"),
        ("src/key.pem:12:{}", "{}"),
        ("src/key.pem-12-{}", "{}"),
        ("+{}", "{}"),
        ("> {}", "{}"),
    ],
)
def test_marks_at_the_start_of_lines_go(line, plain):
    """Numbers of read tools, grep and cat, diff and quotation marks; the text itself stays."""
    data = "\n".join(line.format(LINE) for _ in range(3)).encode() + b"\n"
    wanted = "\n".join(plain.format(LINE) for _ in range(3)).encode() + b"\n"
    assert wanted in list(views.lines(data, SEEN(data), work()))


def test_wrapped_runs_are_joined():
    """Base64 at 64 or 76 columns is one run, and what stands round it is left out."""
    data = f"key:\n{LINE}\n  {LINE}\r\n{LINE[:20]}==\nend".encode()
    assert (LINE + LINE + LINE[:20] + "==").encode() in list(views.joined(data, SEEN(data), work()))


@pytest.mark.parametrize(
    "text",
    [
        "k = 'abc' + 'def'",
        'k = "abc" +\n    "def"',
        'k = ("abc"\n     "def")',
        'k = "abc" \\\n "def"',
        "k = `abc` + `def`",
    ],
)
def test_strings_that_code_puts_together(text):
    """Concatenation in one line and over two."""
    data = text.encode()
    assert any(b"abcdef" in view for view in views.joined(data, SEEN(data), work()))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"a\nb\tc\"d\/e", 'a\nb\tc"d/e'),
        (r"\u0061\x62\U00000063\u{64}", "abcd"),
        (r"\\u0061", r"a"),
        (r"{\"a\": \"x\\\\ny\"}", '{"a": "x\ny"}'),
        ("%61%62", "ab"),
        ("%2561", "a"),
        ("&#97;&#x62;&amp;&quot;", 'ab&"'),
        (r"\u{110000}", "?"),
        (r"\ud800", "?"),
    ],
)
def test_escapes_are_undone(text, plain):
    """Backslash, percent and character references, once more for each level of nesting."""
    data = text.encode()
    assert plain in [view.decode() for view in views.unescaped(data, SEEN(data), work())]


def test_only_lines_with_escapes_are_read_again():
    """A long text with one escape costs one line."""
    data = b"plain line\n" * 1000 + b"a\\nb\n" + b"plain line\n" * 1000
    assert list(views.unescaped(data, SEEN(data), work())) == [b"a\nb"]


def test_nesting_without_end_ends():
    """Four levels are undone thrice."""
    data = b"%25252561"
    assert list(views.unescaped(data, SEEN(data), work())) == [b"%252561", b"%2561", b"%61"]


def test_text_without_anything_special_has_no_views():
    """The common case costs the gates alone."""
    data = b"def main():\n    return 1\n"
    seen = SEEN(data)
    assert not seen
    for view in (views.lines, views.joined, views.unescaped, views.dumped):
        assert list(view(data, seen, work())) == []


RAW = bytes(range(0x41, 0x5B)) + b"\x00\xff0123"


def xxd(raw: bytes) -> str:
    rows = []
    for at in range(0, len(raw), 16):
        part = raw[at : at + 16]
        groups = " ".join(part[n : n + 2].hex() for n in range(0, len(part), 2))
        rows.append(f"{at:08x}: {groups:<39}  {'.' * len(part)}")
    return "\n".join(rows)


def hexdump(raw: bytes) -> str:
    rows = []
    for at in range(0, len(raw), 16):
        part = raw[at : at + 16]
        left, right = (" ".join(f"{b:02x}" for b in half) for half in (part[:8], part[8:]))
        rows.append(f"{at:08x}  {left}  {right}  |{'.' * len(part)}|")
    return "\n".join(rows)


def od(raw: bytes) -> str:
    return "\n".join(
        f"{at:07o} " + " ".join(f"{b:02x}" for b in raw[at : at + 16])
        for at in range(0, len(raw), 16)
    )


def swapped(raw: bytes) -> str:
    return "\n".join(
        f"{at:07x} "
        + " ".join(raw[n : n + 2][::-1].hex() for n in range(at, min(at + 16, len(raw)), 2))
        for at in range(0, len(raw), 16)
    )


@pytest.mark.parametrize("layout", [xxd, hexdump, od, swapped])
@pytest.mark.parametrize("prefix", ["", "     1\t"])
def test_hex_dumps(layout, prefix):
    """The bytes of a dump, in each of the usual layouts, also behind line numbers."""
    text = "\n".join(f"{prefix}{row}" for row in layout(RAW).splitlines())
    data = f"$ dump\n{text}\n".encode()
    assert any(view.startswith(RAW) for view in views.dumped(data, SEEN(data), work()))


@pytest.mark.parametrize("joint", [":", " ", ", ", "-"])
def test_spaced_hex(joint):
    """Hex with something between the bytes."""
    data = ("is " + joint.join(f"{b:02x}" for b in RAW)).encode()
    assert any(RAW in view for view in views.dumped(data, SEEN(data), work()))
    with_marks = (", ".join(f"0x{b:02x}" for b in RAW)).encode()
    assert any(RAW in view for view in views.dumped(with_marks, SEEN(with_marks), work()))
