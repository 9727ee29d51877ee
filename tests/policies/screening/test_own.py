"""Credentials of a request: denied in it, whatever form they take; stand-ins are none."""

import base64
import random

import pytest

from policies.conversation import Strand
from policies.screening import Own

NOISE = random.Random(4)
KEY = "sk-" + base64.b64encode(NOISE.randbytes(30)).decode().replace("+", "x")
LOGIN = "Basic " + base64.b64encode(b"ann:Tr0ub4dor-and-3").decode()


def places(own: Own | None, text: str, *, is_key: bool = False) -> list[str]:
    assert own is not None
    return [f.place for f in own.findings([Strand(("metadata", text), text, is_key)])]


@pytest.mark.parametrize(
    "text",
    [
        f"my key is {KEY}.",
        KEY[::-1],
        KEY.encode().hex(),
        base64.b64encode(f"x{KEY}".encode()).decode(),
        base64.urlsafe_b64encode(f"it is {KEY}".encode()).decode(),
    ],
)
def test_a_credential_is_found_in_any_form(text):
    """In the open, reversed, in hex and base64 of any alignment; in values and keys."""
    own = Own.of([f"Bearer {KEY}"])
    assert places(own, text) == ["metadata.*"]
    assert places(own, text, is_key=True) == ["metadata.*"]
    assert places(own, "nothing of it") == []


def test_the_password_of_a_login_is_one():
    """Basic credentials are opened."""
    assert places(Own.of([LOGIN]), "Tr0ub4dor-and-3") != []


@pytest.mark.parametrize(
    "value", ["", "Bearer", "dummy", "Bearer not-needed", "ollama", "sk-your-key-here", "x" * 40]
)
def test_stand_ins_are_no_credentials(value):
    """What people write where a key is not needed stands in many texts."""
    assert Own.of([value]) is None


def test_the_digest_tells_credentials_apart():
    """What was searched for one is new for another; the order of headers makes no difference."""
    assert _digest(KEY) != _digest(KEY[::-1])
    assert _digest(KEY, LOGIN) == _digest(LOGIN, f"Bearer {KEY}")
    assert KEY not in repr(Own.of([KEY]))


def _digest(*values: str) -> bytes:
    own = Own.of(values)
    assert own is not None
    return own.digest
