"""Runs of base64, hex and base32: read to the depth allowed, or named as unreadable."""

import base64
import gzip
import hashlib
import random
import zlib

import pytest

from policies.conversation import Strand
from policies.screening import AMBIGUOUS, Screen, codecs, decode
from policies.screening.work import Exhausted, Work

NOISE = random.Random(5)
SECRET = "Zq7xW2pL9rTf"
PNG = b"\x89PNG\r\n\x1a\n" + NOISE.randbytes(6000)


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


@pytest.fixture(scope="module")
def screen() -> Screen:
    return Screen.build({"f": SECRET.encode()})


def kinds(screen: Screen, text: str, *beside: Strand) -> set[tuple[str, str]]:
    strand = Strand(("messages", 0, "content", 0, "source", "data"), text)
    return {(f.kind, f.family) for f in screen.findings([*beside, strand])}


def wif(secret: bytes) -> str:
    """A private key in wallet import format."""
    raw = b"\x80" + secret + b"\1"
    raw += hashlib.sha256(hashlib.sha256(raw).digest()).digest()[:4]
    number, text = int.from_bytes(raw, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[digit] + text
    return text


def media(value: str) -> Strand:
    return Strand(("messages", 0, "content", 0, "source", "media_type"), value)


DENIED = ("deny_file", "deny")
OPAQUE = ("opaque-run", AMBIGUOUS)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda raw: b64(raw),
        lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("="),
        lambda raw: b64(b64(raw).encode()),
        lambda raw: b64(b64(b64(raw).encode()).encode()),
        lambda raw: raw.hex(),
        lambda raw: b64(raw.hex().encode()),
        lambda raw: base64.b32encode(raw).decode(),
        lambda raw: b64(gzip.compress(raw)),
        lambda raw: b64(zlib.compress(raw)),
        lambda raw: b64(b"\x00\xfe" + NOISE.randbytes(70) + raw),
        lambda raw: "path/to/" + b64(raw),
        lambda raw: base64.encodebytes(raw + NOISE.randbytes(300)).decode(),
    ],
)
def test_encodings_are_undone(screen, wrap):
    """One to three layers, compressed or not, glued to a path, wrapped, behind a binary head."""
    assert DENIED in kinds(screen, wrap(f"some text, then {SECRET}, then more".encode()))


def test_a_fourth_layer_is_beyond_the_bound():
    """The bound is where it is said to be."""
    raw = b"a text with a word in it: needle, and some more of it"
    layers = [raw]
    for _ in range(4):
        layers.append(base64.b64encode(layers[-1]))
    work = Work(10**5)
    seen = [layers[4]]
    for _ in range(3):
        seen.append(decode.decode(seen[-1], {"text"}, lambda _: {"text"}, work).text)
    assert b"needle" not in seen[3]
    assert base64.b64decode(seen[3].split(decode.SEPARATOR)[0]) == raw


def test_what_cannot_be_read_is_ambiguous(screen):
    """A long run that is neither text nor an image, in base64 and in hex."""
    noise = NOISE.randbytes(4000)
    assert kinds(screen, b64(noise)) == {OPAQUE}
    assert kinds(screen, noise.hex()) == {OPAQUE}
    assert kinds(screen, base64.encodebytes(noise).decode()) == {OPAQUE}
    assert kinds(screen, b64(noise[:2000])) == set()


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
    ],
)
def test_images_are_what_they_say(screen, head, kind):
    """Bare, behind its media type and as a data URI; never as another type."""
    data = b64(head + NOISE.randbytes(5000))
    assert kinds(screen, data) == set()
    assert kinds(screen, data, media(kind)) == set()
    assert kinds(screen, f"see data:{kind};base64,{data} here") == set()
    other = "image/gif" if kind == "image/png" else "image/png"
    assert kinds(screen, data, media(other)) == {("image-mismatch", AMBIGUOUS)}
    assert kinds(screen, f"data:{other};base64,{data}") == {("image-mismatch", AMBIGUOUS)}


def test_text_in_and_behind_an_image_is_read(screen):
    """A text chunk, and what follows the end of the image."""
    for raw in (PNG[:40] + b"tEXtComment\0" + SECRET.encode() + PNG[40:], PNG + SECRET.encode()):
        assert DENIED in kinds(screen, b64(raw), media("image/png"))


def test_text_that_is_called_an_image(screen):
    """Text behind an image type is text."""
    text = f"a plain text of some length that holds {SECRET} somewhere in the middle of it"
    assert kinds(screen, b64(text.encode()), media("image/png")) == {DENIED}


def test_documents_and_long_texts_are_no_noise(screen):
    """PDFs pass, so do attachments that are text in any language, and rulers."""
    assert kinds(screen, b64(b"%PDF-1.7\n" + NOISE.randbytes(6000))) == set()
    assert (
        kinds(screen, b64("Grüße und schöne Wörter, ganz ohne Geheimnis. ".encode() * 200)) == set()
    )
    assert kinds(screen, "-" * 9000) == set()
    assert kinds(screen, "3" * 9000) == set()
    assert kinds(screen, b64("ありがとうございます。".encode() * 300)) == set()


def test_bombs_are_ambiguous(screen):
    """Compressed content beyond the bound is not read to its end, and so does not leave."""
    bomb = b64(zlib.compress(b"x" * 5_000_000, 9))
    assert {family for _, family in kinds(screen, bomb)} == {AMBIGUOUS}
    large = b64(zlib.compress(b64(NOISE.randbytes(200_000)).encode()))
    assert ("inflate-limit", AMBIGUOUS) in kinds(screen, large)
    assert kinds(screen, b64(b"\x1f\x8b" + NOISE.randbytes(100))) == set()


def test_binary_heads():
    """Macaroons, notes and keys are known by their first bytes and their structure."""
    identifier = b"\x03\x0a\x10" + bytes(16)
    v2 = (
        b"\x02\x01\x03lnd\x02" + bytes([len(identifier)]) + identifier + b"\0\0\x06\x20" + bytes(32)
    )
    der = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20" + bytes(range(32))
    notes = b"\x02\x01\x04abcd\x00\x05hello"
    assert list(decode.heads(v2)) == ["macaroon"]
    assert list(decode.heads(der)) == ["private_key_der"]
    assert list(decode.heads(notes)) == ["fedimint"]
    assert list(decode.heads(b"crawB\xa1\x61t\x80")) == ["cashu"]
    assert list(decode.heads(b"openssh-key-v1\0" + bytes(64))) == ["ssh_private_key"]
    for broken in (
        b"\x02",
        b"\x02\x01\xff",
        v2[:-1],
        b"crawB\xff",
        b"\x30\x82",
        b"000",
        notes[:-1],
    ):
        assert list(decode.heads(broken)) == []


def test_binary_keys_behind_encodings(screen):
    """A macaroon file in hex, in a dump and in base64 is the same macaroon."""
    identifier = b"\x03\x0a\x10" + NOISE.randbytes(16)
    raw = (
        b"\x02\x02" + bytes([len(identifier)]) + identifier + b"\0\0\x06\x20" + NOISE.randbytes(32)
    )
    dump = "\n".join(f"{at:08x}: {raw[at : at + 16].hex(' ', 2)}" for at in range(0, len(raw), 16))
    for text in (raw.hex(), b64(raw), dump, f"+{raw.hex()}", f"+{b64(raw)}"):
        assert ("macaroon", "macaroon") in kinds(screen, text)


def test_hostile_text_runs_out_of_work():
    """The counter, not the clock, bounds what a text may cost."""
    work = Work(10)
    work.spend("anchors", work.limit)
    with pytest.raises(Exhausted):
        work.spend("anchors", 1)


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"\x00", 1),
        (b"\x18\xff", 2),
        (b"\x43abc", 4),
        (b"\x82\x01\x02", 3),
        (b"\xa1\x61a\x81\xf6", 5),
        (b"\xc1\x1a\x00\x00\x00\x00", 6),
        (b"", None),
        (b"\x18", None),
        (b"\x5f", None),
        (b"\x43ab", None),
        (b"\x9f\xff", None),
        (b"\x82\x01", None),
        (b"\x81" * 40, None),
    ],
)
def test_cbor(data, end):
    """Definite items of every kind; cut short, endless or too deep is refused."""
    assert codecs.cbor_end(data) == end


def test_codecs_refuse_what_is_cut_short():
    """Each codec answers for bad input without raising."""
    assert codecs.bech32(b"nsec1") is None
    assert codecs.bech32(b"1qqqqqqq") is None
    assert codecs.bech32(b"nsec1bbbbbbbb") is None
    assert codecs.base58check(b"0OIl") is None
    assert codecs.base58check(b"11") is None
    assert codecs.varint(b"\x80", 0) is None
    assert codecs.varint(b"\xff" * 12, 0) is None
    assert not codecs.der_private_key(b"\x30\x80\x00")
    assert not codecs.der_private_key(b"\x30\x03\x02\x05\x00")
    assert not codecs.der_private_key(b"\x30\x85\x01\x01\x01\x01\x01")
    assert not codecs.macaroon_v2(b"\x02\x01\x01x\0\x09\x01x")
    assert not codecs.macaroon_v2(b"\x02\x01\x01x")
    assert not codecs.macaroon_v1(b"0005x")
    assert not codecs.macaroon_v1(b"zzzz")


@pytest.mark.parametrize("kind", [b"zTXt", b"iTXt"])
def test_compressed_text_in_an_image_is_read(screen, kind):
    """As far as the bound; what lies beyond it, or cannot be inflated, is ambiguous."""

    def image(packed: bytes) -> str:
        head = b"Comment\0\0" if kind == b"zTXt" else b"Comment\0\1\0en\0\0"
        body = head + packed
        chunk = len(body).to_bytes(4, "big") + kind + body + bytes(4)
        return b64(PNG[:8] + chunk + NOISE.randbytes(5000))

    fine, bomb = zlib.compress(b"a caption"), zlib.compress(b"x" * 5_000_000, 9)
    assert kinds(screen, image(fine), media("image/png")) == set()
    assert DENIED in kinds(screen, image(zlib.compress(SECRET.encode())), media("image/png"))
    for unread in (bomb, fine[:1] + b"\xff" + fine[2:]):
        found = kinds(screen, image(unread), media("image/png"))
        assert found == {("inflate-limit", AMBIGUOUS)}


def test_a_wallet_key_is_found_with_another_line_below(screen):
    """A short line under it would be taken for the rest of wrapped base64."""
    coded = wif(bytes(range(1, 33)))
    for text in (f"{coded}\nEOF", f"X={coded}\nY=1", f"cat <<EOF\n{coded}\nEOF\n"):
        assert ("wif", "bitcoin") in kinds(screen, text)
    assert list(decode.wallet_keys(f"a {coded} b {coded[:-1]}".encode())) == ["wif"]


@pytest.mark.parametrize(
    ("lengths", "read"),
    [
        ((b"\x05", b"\x07"), True),
        ((b"\xc0\x10", b"\xc1\x00"), True),
        ((b"\xff\0\0\x01\0", b"\x05"), True),
        ((b"\x05", b"\xe2"), False),
    ],
    ids=["one byte", "two bytes", "five bytes", "in parts"],
)
def test_packets_of_pgp_are_read_by_their_length(lengths, read):
    """Lengths as RFC 9580 writes them; one in parts, which no public key has, is none."""
    first, second = lengths
    size = {b"\x05": 5, b"\x07": 7, b"\xc0\x10": 208, b"\xc1\x00": 448, b"\xe2": 9}
    raw = b"\xc6" + first + bytes(size.get(first, 256)) + b"\xc2" + second + bytes(size[second])
    assert codecs.pgp_public(raw) is read
    assert not codecs.pgp_public(raw[:-1])
