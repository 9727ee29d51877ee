"""Content codings: what is read, what is refused, and what a bomb costs."""

import gzip
import json
import sys
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy import bodies
from proxy.bodies import decode
from proxy.errors import Refused

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIB = 1024 * 1024
BODY = json.dumps(
    {"model": "m", "messages": [{"role": "user", "content": "héllo " * 200}]}
).encode()
SKIPPABLE = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"  # RFC 8878, 3.1.2


def bare_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def windowed(log: int, data: bytes) -> bytes:
    """A frame that claims a window of 2**log bytes and no content size."""
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: log})
    return packer.compress(data[:10]) + packer.compress(data[10:]) + packer.flush()


def refusal(body: bytes, codings: str | None, limit: int = 8 * MIB, **more: int) -> Refused:
    with pytest.raises(Refused) as caught:
        decode(body, codings, limit, **more)
    return caught.value


@pytest.mark.parametrize("codings", [None, "", "identity", "Identity", " , identity ,"])
def test_a_plain_body_is_the_identical_object(codings):
    """Nothing is copied where there is no coding."""
    assert decode(BODY, codings, 8 * MIB) is BODY


@pytest.mark.parametrize(
    ("packed", "codings"),
    [
        (gzip.compress(BODY, mtime=0), "gzip"),
        (gzip.compress(BODY, mtime=0), "GZIP"),
        (gzip.compress(BODY, mtime=0), " x-gzip\t"),
        (gzip.compress(BODY, mtime=0), "gzip,"),
        (zlib.compress(BODY), "deflate"),
        (bare_deflate(BODY), "Deflate"),
        (zstd.compress(BODY), "zstd"),
        (windowed(20, BODY), "ZSTD"),
    ],
)
def test_every_coding_of_the_list_is_read(packed, codings):
    """gzip, deflate (both kinds) and zstd give the body back, whatever the case of the token."""
    assert decode(packed, codings, 8 * MIB) == BODY


@pytest.mark.parametrize(
    ("packed", "codings"),
    [
        (gzip.compress(BODY[:9], mtime=0) + gzip.compress(BODY[9:]), "gzip"),
        (gzip.compress(b"", mtime=0) + gzip.compress(BODY) + gzip.compress(b""), "gzip"),
        (b"".join(gzip.compress(BODY[i : i + 1], mtime=0) for i in range(len(BODY))), "gzip"),
        (zstd.compress(BODY[:9]) + zstd.compress(BODY[9:]), "zstd"),
        (SKIPPABLE + zstd.compress(BODY[:9]) + SKIPPABLE + zstd.compress(BODY[9:]), "zstd"),
    ],
)
def test_all_members_and_frames_are_read(packed, codings):
    """Nothing hides behind the first member or frame, nor behind an empty one."""
    assert decode(packed, codings, 8 * MIB) == BODY


@given(data=st.binary(max_size=5000), cut=st.integers(1, 300))
@settings(max_examples=60)
def test_any_bytes_come_back_and_any_cut_is_seen(data, cut):
    """For every coding: whole gives the bytes, cut short gives a refusal, never half a body."""
    for codings, pack in (
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstd.compress),
    ):
        packed = pack(data)
        assert decode(packed, codings, 8 * MIB) == data
        short = packed[: max(1, len(packed) - cut)]
        assert refusal(short, codings).code == "body-invalid"


@given(junk=st.binary(min_size=1, max_size=40))
@settings(max_examples=100)
def test_trailing_bytes_are_refused(junk):
    """What follows the end and is no further member or frame is never dropped in silence."""
    for codings, pack in (
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", bare_deflate),
        ("zstd", zstd.compress),
    ):
        for data in (b"", BODY):
            wrong = refusal(pack(data) + junk, codings)
            assert wrong.code == "body-invalid"
            assert "follows the end" in wrong.facts["reason"]


@pytest.mark.parametrize("codings", ["gzip", "zstd", "deflate"])
def test_a_wrong_label_is_refused(codings):
    """A body that is not in the coding its header names is not guessed at."""
    wrong = refusal(b'{"model": "m"}', codings)
    assert wrong.code == "body-invalid"
    assert codings in wrong.facts["reason"]


def test_a_body_in_another_coding_of_the_list_is_refused():
    """The header decides, not the magic number."""
    assert refusal(zstd.compress(BODY), "gzip").code == "body-invalid"
    assert refusal(gzip.compress(BODY, mtime=0), "zstd").code == "body-invalid"


@pytest.mark.parametrize(
    ("codings", "fact"),
    [
        ("br", {"coding": "br"}),
        ("BR", {"coding": "br"}),
        ("gzip, gzip", {"coding": "of several layers"}),
        ("identity, gzip", {"coding": "of several layers"}),
        ("zstd,gzip", {"coding": "of several layers"}),
        ("my-own-coding", {}),
        ("gzip;q=1", {}),
        ("gzip\x00", {}),
    ],
)
def test_unknown_and_stacked_codings_are_refused(codings, fact):
    """The refusal names a coding only from our own list: the header is the client's."""
    wrong = refusal(gzip.compress(BODY, mtime=0), codings)
    assert (wrong.code, wrong.facts) == ("coding-unknown", fact)


def test_an_empty_body_stays_empty_under_a_known_coding():
    """A request without a body may carry the header; an unknown coding is refused even then."""
    assert decode(b"", "gzip", 10) == b""
    assert refusal(b"", "br").code == "coding-unknown"


def test_a_window_beyond_eight_mib_is_refused():
    """A frame may not make us hold more than 8 MiB of history."""
    data = b"".join(i.to_bytes(4, "big") for i in range(100_000))
    assert decode(windowed(23, data), "zstd", 8 * MIB) == data
    assert refusal(windowed(24, data), "zstd").code == "body-invalid"


def test_the_limit_counts_decoded_bytes():
    """Exactly the limit passes, one byte more does not, packed or not."""
    data = bytes(range(256)) * 40
    for codings, pack in (("identity", bytes), ("gzip", gzip.compress), ("zstd", zstd.compress)):
        assert decode(pack(data), codings, len(data)) == data
        wrong = refusal(pack(data), codings, len(data) - 1)
        assert (wrong.code, wrong.facts) == ("body-too-large", {"limit": "10239 bytes"})
    assert refusal(bytes(MIB + 1), None, MIB).facts == {"limit": "1 MiB"}


def test_the_ratio_counts_only_beyond_a_mebibyte():
    """Short bodies may be as repetitive as they like."""
    assert len(decode(gzip.compress(bytes(MIB)), "gzip", 8 * MIB)) == MIB
    wrong = refusal(gzip.compress(bytes(MIB + 1)), "gzip")
    assert (wrong.code, wrong.facts) == (
        "body-too-large",
        {"limit": "200 times its packed size"},
    )
    assert len(decode(gzip.compress(bytes(2 * MIB)), "gzip", 8 * MIB, ratio=2000)) == 2 * MIB


@pytest.mark.parametrize(("codings", "pack"), [("gzip", gzip.compress), ("zstd", zstd.compress)])
@pytest.mark.parametrize(("limit", "ratio"), [(64 * MIB, 200), (64 * MIB, 20), (4 * MIB, 10**9)])
def test_a_bomb_costs_no_more_than_what_is_allowed(codings, pack, limit, ratio):
    """256 MiB of zeroes: decoding stops at the limit or the ratio, and only so much is held."""
    packed = pack(bytes(256 * MIB))
    allowed = min(limit, max(MIB, ratio * len(packed)))
    tracemalloc.start()
    try:
        assert refusal(packed, codings, limit, ratio=ratio).code == "body-too-large"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A buffer grows by an eighth at a time, and one step is in hand.
    assert peak < allowed * 1.25 + 2 * MIB


def test_a_body_of_endless_small_members_is_refused():
    """Members without content would keep a processor busy below every size limit."""
    member = gzip.compress(b"", mtime=0)
    assert decode(member * bodies.MAX_PARTS, "gzip", MIB) == b""
    wrong = refusal(member * (bodies.MAX_PARTS + 1), "gzip")
    assert wrong.code == "body-invalid"
    assert "more than 4096 parts" in wrong.facts["reason"]


def test_no_refusal_repeats_the_body():
    """Neither facts nor the exception's chain hold a byte of what was sent."""
    canary = "canary-" + "7f3a"
    wrong = refusal(canary.encode(), "gzip")
    assert canary not in repr((wrong.args, wrong.facts, wrong.__cause__))
    assert canary not in repr(refusal(BODY, canary).facts)
