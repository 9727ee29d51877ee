"""Views see through what stands between a secret and its reader."""

import pytest

from policies.screening import views
from policies.screening.signs import Sentry
from policies.screening.work import Work

SENTRY = Sentry([])
LINE = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2"


def lines(data: bytes) -> list[bytes]:
    return list(views.lines(data, SENTRY.look(data).seen, work()))


def joined(data: bytes) -> list[bytes]:
    return list(views.joined(data, SENTRY.look(data).joints, work()))


def dumped(data: bytes) -> list[bytes]:
    return list(views.dumped(data, SENTRY.look(data).seen, work()))


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
    """Cyrillic and Greek letters are read as Latin ones in lines that mix them, a cheap test says
    where there are any."""
    assert views.alike("да\nѕк-аnt\nнет") == "sk-ant"
    assert "alike" in SENTRY.look("ѕк-аnt".encode()).seen
    assert "alike" not in SENTRY.look("да или нет".encode()).seen


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("a\u200bb", "unseen"), ("\u202e", "unseen"), ("\ufeffa", "unseen"), ("\x1b[0m", "unseen"),
        ("\U000e0041", "unseen"), ("ｎｓｅｃ", "compatible"), ("𝐚𝐛", "compatible"),
        ("oﬁce", "compatible"), ("sk－proj", "compatible"), ("m²", "compatible"),
    ],
)  # fmt: skip
def test_text_that_has_to_be_cleaned_is_told_by_a_cheap_test(text, test):
    """What is not seen, and what NFKC spells plainly where it could be a part of a secret."""
    assert test in SENTRY.look(text.encode()).seen
    assert views.clean(text) != text


@pytest.mark.parametrize(
    "text", ["über größe …", "да, нет", "你好，世界。", "“quoted” — so", "\xa0"]
)
def test_ordinary_text_is_not_cleaned(text):
    """Accents, other scripts and typography call for nothing."""
    assert SENTRY.look(text.encode()).seen.isdisjoint({"unseen", "compatible", "alike"})


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
    assert wanted in lines(data)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n    "])
def test_wrapped_runs_are_joined(end):
    """Base64 at 64 or 76 columns is one run, with what stands at the end of the line before and at
    the start of the line behind it."""
    data = f"key: {LINE[:50]}{end}{LINE}{end}{LINE}{end}{LINE[:20]}==\nend".encode()
    assert "lines" in SENTRY.look(data).seen
    runs, rest = views.wrapped(data, work())
    assert f"{LINE[:50]}{LINE}{LINE}{LINE[:20]}".encode() in runs.split(b"\n")
    assert rest.split() == [b"key:", b"==", b"end"]


def test_runs_of_different_width_are_not_joined():
    """Two runs, one above the other, are two."""
    data = f"{LINE}\n{LINE}AAAA\n{LINE}\n".encode()
    runs, _ = views.wrapped(data, work())
    assert f"{LINE}\n{LINE}AAAA".encode() in runs
    assert f"{LINE}AAAA{LINE}".encode() in runs


@pytest.mark.parametrize(
    "text",
    [
        "k = 'abc' + 'def'",
        'k = "abc" +\n    "def"',
        'k = ("abc"\n     "def")',
        'k = "abc" \\\n "def"',
        "k = `abc` + `def`",
        'k = "abc" "def"',
        "k='abc'\"def\"",
        'k = b"abc" rb"def"',
        'k = L"abc" u8"def"',
        'k = @"abc" @"def"',
        "k = 'abc' .. 'def'",
        'k = "abc" ++ "def"',
        'k = "abc" <> "def"',
        'k = "abc" ~ "def"',
        'k = "abc" & _\r\n    "def"',
        '12\tk = ("abc"\n13\t     f"def")',
        '12:k = "abc" +\n13-    "def"',
        '    12→k = "abc"\n    13→    + "def"',
        '+k = ("abc"\n+     "def")',
        '> k = "abc" +\n>     "def"',
        "x" * 3000 + "'abc' + 'def'" + "x" * 3000,
    ],
)
def test_strings_that_code_puts_together(text):
    """Concatenation in one line and over two."""
    data = text.encode()
    assert any(b"abcdef" in view for view in joined(data))


@pytest.mark.parametrize(
    "text",
    [
        "['abc', 'def']",
        "{'abc': 'def'}",
        "k = 'abc' if 'def' else 'ghi'",
        "k = 'abc' or 'def'",
        "| `abc` | `def` |",
        "- `abc`\n- `def`",
        "k = 'abc'\nl = 'def'",
        "'a' 'b'",
    ],
)
def test_strings_that_are_several(text):
    """Lists, tables and what is said twice call for no view."""
    assert joined(text.encode()) == []


@pytest.mark.parametrize(
    "text", ["say ``abc``.def", "run '--with-abc' '--with-def'", "run 'ABC=/abc' 'DEF=/def'"]
)
def test_what_only_stands_beside_each_other_stays_so(text):
    """Marks of markup, and arguments of a command."""
    assert joined(text.encode()) in ([], [text.encode()])


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"a\nb\tc\"d\/e", 'a\nb\tc"d/e'),
        (r"\u0061\x62\U00000063\u{64}", "abcd"),
        (r"\\u0061", r"a"),
        (r"{\"a\": \"x\\\\ny\"}", "a\nx\ny"),
        ("%61%62", "ab"),
        ("%2561", "a"),
        ("&#97;&#x62;&amp;&quot;", 'ab&"'),
        (r"\u{110000}", "?"),
        (r"\ud800", "?"),
    ],
)
def test_escapes_are_undone(text, plain):
    """Backslash, percent and character references, once more for each level of nesting."""
    seen, data = [text], text.encode()
    while data:
        data, _ = views.unescaped(data, work())
        seen.append(data.decode())
    assert plain in seen


def test_json_in_strings_is_opened():
    """All keys and strings, of one text or of several in lines, both of two equal keys."""
    for data in (
        rb'{"a": "x\ny", "b": ["z", {"c": 1, "a": "\u0064"}]}',
        rb'{"a":"x\ny"} ["z","d"]',
    ):
        plain, whole = views.unescaped(data, work())
        assert whole
        assert {b"a", b"x", b"y", b"z", b"d"} <= set(plain.split(b"\n"))
    plain, _ = views.unescaped(b'text \\n\n{"a": "p\\tq", "a": "r"}\n[broken\n', work())
    assert {b"p\tq", b"r", b"[broken"} <= set(plain.split(b"\n"))
    assert views.unescaped(b"[" * 100_000, work())[0] == b""


def test_only_lines_with_escapes_are_read_again():
    """A long text with one escape costs one line."""
    data = b"plain line\n" * 1000 + b"a\\nb\n" + b"plain line\n" * 1000
    assert views.unescaped(data, work()) == (b"a\nb", False)
    ends = b"%41 & \\\\\n" + data + b"d&amp;e"
    assert views.unescaped(ends, work()) == (b"A & \\\na\nb\nd&e", False)


def test_escapes_that_stand_where_they_matter_are_told_by_a_cheap_test():
    """Inside of a token or before one; a line break at the end of a string in code does not."""
    for text in (
        rb"\nghp_0123456789", rb"a\u0062", rb"%41", b"&#65;", rb"\nsun moon sea ", rb"\n\n\n\n",
    ):  # fmt: skip
        assert "escape" in SENTRY.look(text).seen, text
    for text in (b'print("done\\n")', b"'%02d %s'", b"100% & more", rb"re.match('\d+', x)"):
        assert "escape" not in SENTRY.look(text).seen, text


def test_text_without_anything_special_has_no_views():
    """The common case costs the tests alone."""
    signs = SENTRY.look(b"def main():\n    return 1\n")
    assert signs.plain
    assert not any((signs.seen, signs.hits, signs.joints))


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
    assert any(view.startswith(RAW) for view in dumped(data))


@pytest.mark.parametrize("joint", [":", " ", ", ", "-"])
def test_spaced_hex(joint):
    """Hex with something between the bytes."""
    data = ("is " + joint.join(f"{b:02x}" for b in RAW)).encode()
    assert any(RAW in view for view in dumped(data))
    with_marks = (", ".join(f"0x{b:02x}" for b in RAW)).encode()
    assert any(RAW in view for view in dumped(with_marks))


def test_many_strings_that_stand_near_are_put_together_once():
    """Joints whose surroundings overlap are one stretch; ones far apart are two, and what is
    between them is not read again."""
    near = b"k = 'abc' + 'def' + 'ghi'"
    assert [view.count(b"abcdefghi") for view in joined(near)] == [1]
    (view,) = joined(near + b"x" * 20_000 + near)
    assert view.count(b"abcdefghi") == 2
    assert len(view) < 10_000


def test_numbers_and_literals_of_a_json_text_say_nothing():
    """In lists as in objects; the strings beside them stay."""
    plain, whole = views.unescaped(b'[1, null, ["a", true, 2.5], {"b": -1}]', work())
    assert (plain.split(b"\n"), whole) == ([b"a", b"b"], True)
