"""Images: the type that they show, and the words in them that are not in the open."""

import struct
import zlib

import pytest

from policies.screening.images import inflated, media_type, packed_texts


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + b"\0\0\0\0"


def png(*chunks: bytes) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (png(), "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"%PDF-1.7", "application/pdf"),
        (b"RIFF\0\0\0\0WAVE", ""),
        (b"text", ""),
    ],
)
def test_types_by_their_first_bytes(raw, kind):
    """Only what an API takes as an image or a document."""
    assert media_type(raw) == kind


def test_compressed_texts_of_a_png():
    """`zTXt` and compressed `iTXt`, wherever they stand; texts in the open need no opening."""
    one, two = zlib.compress(b"one"), zlib.compress(b"two")
    image = png(
        chunk(b"IHDR", bytes(13)),
        chunk(b"tEXt", b"Comment\0open"),
        chunk(b"zTXt", b"Comment\0\0" + one),
        chunk(b"iTXt", b"Comment\0\0\0en\0\0open"),
        chunk(b"IDAT", bytes(40)),
        chunk(b"iTXt", b"Comment\0\1\0en\0Kommentar\0" + two),
        chunk(b"IEND", b""),
    )
    assert [inflated(packed, 99) for packed in packed_texts(image)] == [b"one", b"two"]


@pytest.mark.parametrize(
    "raw", [b"", b"\x89PNG", png(b"\xff\xff\xff\xffzTXt"), png(b"\0\0"), b"GIF89a"]
)
def test_broken_images_have_none(raw):
    """A length that leads out of the image, a header cut short, another type."""
    assert b"".join(packed_texts(raw)) == b""


def test_streams_are_read_up_to_the_limit():
    """zlib or gzip; neither is neither."""
    assert inflated(zlib.compress(b"x" * 1000), 10) == b"x" * 10
    assert inflated(b"\x78\x9cnot a stream", 10) is None
