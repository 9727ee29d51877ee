"""Key pairs of Ed25519 are told from 64 other bytes."""

import pytest

from policies.screening.curve import is_pair

SECRET = bytes(range(7, 39))
PUBLIC = bytes.fromhex("00d05a1d1ea251396d557afbd4588b3c6d99dbeb972fed10a32562ea26dcdcfa")


def test_a_public_key_belongs_to_its_secret_one():
    """The halves in their order, and nothing else: not swapped, not with one bit changed, not
    another length."""
    assert is_pair(SECRET + PUBLIC)
    assert not is_pair(PUBLIC + SECRET)
    assert not is_pair(SECRET + PUBLIC[:-1] + bytes((PUBLIC[-1] ^ 0x80,)))
    assert not is_pair((SECRET + PUBLIC)[:-1])


@pytest.mark.parametrize("at", range(0, 32, 5))
def test_one_bit_makes_another_key(at):
    """A secret key with one bit of it changed has another public key."""
    other = bytearray(SECRET)
    other[at] ^= 8
    assert not is_pair(bytes(other) + PUBLIC)


def test_the_vectors_of_the_specification():
    """RFC 8032, section 7.1, the first."""
    secret = ("9d61b19deffd5a60ba844af492ec2cc4", "4449c5697b326919703bac031cae7f60")
    public = ("d75a980182b10ab7d54bfed3c964073a", "0ee172f3daa62325af021a68f707511a")
    assert is_pair(bytes.fromhex("".join(secret + public)))
