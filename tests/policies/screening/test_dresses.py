"""A secret in the dresses that other programs put it in, and what only looks like one of them."""

import base64
import csv
import io
import json
import random
import string
import unicodedata
from collections.abc import Callable

import pytest
from mnemonic import Mnemonic

from policies.conversation import Strand
from policies.screening import Screen

NOISE = random.Random(20261130)
FAR = ("japanese", "korean", "chinese_simplified", "chinese_traditional")


def token(size: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(NOISE.choices(alphabet, k=size))


KEY = "sk-" + "ant-api03-" + token(93) + "AA"
PASSWORD = "q7" + token(18)


@pytest.fixture(scope="module")
def screen() -> Screen:
    return Screen.build({})


def kinds(screen: Screen, text: str) -> set[str]:
    return {finding.kind for finding in screen.findings([Strand(("content",), text)])}


def c_array(text: str) -> str:
    """What `xxd -i` prints."""
    rows = [text.encode()[at : at + 12] for at in range(0, len(text), 12)]
    body = ",\n".join("  " + ", ".join(f"0x{byte:02x}" for byte in row) for row in rows)
    return "unsigned char key[] = {\n" + body + "\n};\nunsigned int key_len = 108;"


def in_csv(text: str) -> str:
    out = io.StringIO()
    csv.writer(out).writerow([1, json.dumps({"api_key": text}), "2026-01-02"])
    return out.getvalue()


def continued(text: str) -> str:
    return "export K=" + "\\\n".join(text[at : at + 30] for at in range(0, len(text), 30))


def in_lua(text: str) -> str:
    return 'local key = "' + '" .. "'.join(text[at : at + 20] for at in range(0, len(text), 20))


def dumped_json(text: str) -> str:
    """JSON in JSON, in hex with blanks: a dump may be dressed as anything else may."""
    return json.dumps({"a": json.dumps({"v": text})}).encode().hex(" ")


DRESSES: dict[str, Callable[[str], str]] = {
    "C array": c_array,
    "CSV": in_csv,
    "lines that go on": continued,
    "joined by two dots": in_lua,
    "dump of JSON": dumped_json,
    "nbsp": lambda text: f'token:\u00a0"{text}"',
}


@pytest.mark.parametrize("dress", DRESSES)
def test_a_key_is_found_in_its_dress(screen, dress):
    """Arrays of C, cells of CSV, lines and strings that go on, dumps of what has escapes."""
    assert "anthropic" in kinds(screen, DRESSES[dress](KEY))


@pytest.mark.parametrize(
    "text",
    [
        in_csv(PASSWORD),
        f"INSERT INTO s VALUES (2,'RESTIC_PASSWORD=''{PASSWORD}''');",
        f'api_key =\u00a0"{PASSWORD}"',
    ],
)
def test_a_value_beside_its_name_is_found_in_its_dress(screen, text):
    """Quotation marks doubled as CSV and SQL do it, and the blank that word processors set."""
    assert kinds(screen, text)


@pytest.mark.parametrize("language", FAR)
@pytest.mark.parametrize("blank", [" ", "\u3000"])
@pytest.mark.parametrize("form", ["NFC", "NFKD"])
def test_seeds_of_the_far_east_are_found_in_codings(screen, language, blank, form):
    """In base64 wherever a group begins, in hex, percent-encoded, as bytes of Python."""
    words = Mnemonic(language).to_mnemonic(NOISE.randbytes(32)).replace("\u3000", " ")
    seed = unicodedata.normalize(form, words).replace(" ", blank)
    raw = seed.encode()
    for lead in range(3):
        coded = base64.b64encode(b" " * lead + raw).decode()
        assert kinds(screen, f"x {coded}") == {"bip39"}, lead
    assert kinds(screen, raw.hex()) == {"bip39"}
    assert kinds(screen, "".join(f"%{byte:02X}" for byte in raw)) == {"bip39"}
    assert kinds(screen, "".join(f"\\x{byte:02x}" for byte in raw)) == {"bip39"}


LABELLED: dict[str, Callable[[list[str]], str]] = {
    "XML": lambda words: "".join(f'<word index="{n}">{w}</word>' for n, w in enumerate(words)),
    "plist": lambda words: "".join(f"<string>{word}</string>\n" for word in words),
    "JSON": lambda words: json.dumps(
        [{"index": n, "word": w} for n, w in enumerate(words)], ensure_ascii=False
    ),
    "list": lambda words: "".join(f"<li>{word}</li>" for word in words),
    "numbers": lambda words: "\n".join(f"word{n}={w}" for n, w in enumerate(words, 1)),
}


@pytest.mark.parametrize("dress", LABELLED)
@pytest.mark.parametrize("language", ["english", "italian", "korean", "chinese_simplified"])
def test_words_are_found_between_labels(screen, dress, language):
    """Names of fields and tags between the words of a seed do not belong to it."""
    words = Mnemonic(language).to_mnemonic(NOISE.randbytes(16)).split(" ")
    assert kinds(screen, LABELLED[dress](words)) == {"bip39"}


def test_a_row_of_labels_may_end_in_the_middle(screen):
    """What stands a long way behind it, with labels again, is another row."""
    words = Mnemonic("english").to_mnemonic(NOISE.randbytes(16)).split(" ")
    row = LABELLED["XML"](words)
    assert kinds(screen, f"{row}{'. ' * 100}<b>and</b> so on") == {"bip39"}


def test_few_labels_are_no_row(screen):
    """Labels far from each other leave what stands between them as it is."""
    words = Mnemonic("english").to_mnemonic(NOISE.randbytes(16)).split(" ")
    apart = "word1 " + ("and so it goes on, a long way to the next one. " * 3)
    assert kinds(screen, apart.join(words)) == set()


def test_marks_beside_a_seed_do_not_hide_it(screen):
    """An arrow behind a line number, a bracket or a quotation mark at the ends of a row."""
    seed = Mnemonic("korean").to_mnemonic(NOISE.randbytes(16))
    for text in (f"    3\u2192{seed}", f"\u00ab{seed}\u00bb", f"\uff1a{seed}\u3002"):
        assert kinds(screen, text) == {"bip39"}


def test_a_key_is_found_behind_paths_lines_and_columns(screen):
    """As `rg --column` prints it."""
    body = base64.b64encode(
        bytes.fromhex("302e020100300506032b657004220420") + NOISE.randbytes(32)
    ).decode()
    mark = "PRIVATE KEY-----"
    lines = [f"-----BEGIN {mark}", body, f"-----END {mark}"]
    text = "\n".join(f"deploy/a.yml:{n}:{n % 7 + 1}:{line}" for n, line in enumerate(lines, 12))
    assert kinds(screen, text)


def key_block() -> str:
    """A key of three lines and a shorter one, in the shape of RFC 8017."""
    numbers = (b"\x02\x01\0", b"\x02\x40\x3f" + NOISE.randbytes(63), b"\x02\x03\x01\0\x01")
    rest = b"".join(b"\x02\x20\x3f" + NOISE.randbytes(31) for _ in range(2))
    inner = b"".join(numbers) + rest
    body = base64.b64encode(b"\x30\x81" + bytes((len(inner),)) + inner).decode()
    mark = "RSA PRIVATE KEY-----"
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return "\n".join((f"-----BEGIN {mark}", *lines, f"-----END {mark}"))


BEFORE_LINES: dict[str, Callable[[int, str], str]] = {
    "log": lambda n, line: f"2026-11-30T10:00:0{n}.123456789Z {line}",
    "services": lambda n, line: f"web-{n}  | {line}",
    "blame": lambda n, line: f"1a2b3c4d (Bob 2026-01-02 {n}) {line}",
    "code": lambda n, line: f'    "{line}\\n" +',
    "PHP": lambda n, line: f"    . '{line}\\n'",
}


@pytest.mark.parametrize("dress", BEFORE_LINES)
def test_a_key_block_is_found_behind_what_stands_on_every_line(screen, dress):
    """Times, names of services, authors; a string of code for each line, with its escape."""
    lines = key_block().split("\n")
    text = "\n".join(BEFORE_LINES[dress](n, line) for n, line in enumerate(lines))
    assert kinds(screen, text) == {"pem_private_key"}


SEPARATED: dict[str, Callable[[list[str]], str]] = {
    "table": lambda words: "".join(
        f"<tr><td>{n}</td><td>{word}</td></tr>" for n, word in enumerate(words, 1)
    ),
    "breaks": lambda words: "<br>".join(words),
    "numbers and breaks": lambda words: "<br/>\n".join(
        f"{n}. {word}" for n, word in enumerate(words, 1)
    ),
    "grep": lambda words: "\n".join(f"notes/w.txt:{n}:{word}" for n, word in enumerate(words, 1)),
    "frame": lambda words: "\n".join(
        f"\u2502 {n:2d} \u2502 {word} \u2502" for n, word in enumerate(words, 1)
    ),
    "arrows": lambda words: " \u2192 ".join(words),
    "quotes": lambda words: ", ".join(f"\u201c{word}\u201d" for word in words),
}


@pytest.mark.parametrize("dress", SEPARATED)
@pytest.mark.parametrize("language", ["english", "french", "japanese", "korean"])
def test_words_are_found_whatever_stands_between_them(screen, dress, language):
    """Cells and breaks of pages, file and line as `grep` has them, frames, arrows and quotes."""
    words = Mnemonic(language).to_mnemonic(NOISE.randbytes(16)).replace("\u3000", " ").split(" ")
    assert kinds(screen, SEPARATED[dress](words)) == {"bip39"}


def test_lists_of_other_words_in_the_same_dress_are_none(screen):
    """Cells, breaks and listings hold common words all day."""
    words = ["about", "across", "zebra", "able", "open", "the", "file", "of", "text", "and"] * 2
    for dress in SEPARATED.values():
        assert kinds(screen, dress(words)) == set()


@pytest.mark.parametrize("language", ["Swift", "Kotlin"])
def test_a_constant_with_its_type_is_found(screen, language):
    """The type stands between name and value."""
    word = {"Swift": "let", "Kotlin": "val"}[language]
    assert kinds(screen, f'{word} apiKey: String = "{PASSWORD}"') == {"dotenv"}


def test_the_environment_of_a_process_is_found(screen):
    """As the kernel has it: a zero byte behind each value."""
    assert kinds(screen, f"PATH=/bin\0DB_PASSWORD={PASSWORD}\0HOME=/") == {"dotenv"}
