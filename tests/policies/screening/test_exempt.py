"""What a provider sealed is left alone at exactly its positions, and nowhere else."""

import base64
import random

import pytest
from mnemonic import Mnemonic

from policies.conversation import Strand
from policies.screening import Screen

NOISE = base64.b64encode(random.Random(9).randbytes(6000)).decode()
SECRET = "Zq7xW2pL9rTf"


@pytest.fixture(scope="module")
def screen() -> Screen:
    return Screen.build({"f": SECRET.encode()})


def anthropic(role: str, kind: str, key: str, value: str) -> list[Strand]:
    part = ("messages", 1, "content", 0)
    return [
        Strand(("messages", 1, "role"), role),
        Strand((*part, "type"), kind),
        Strand((*part, key), key, is_key=True),
        Strand((*part, key), value),
    ]


def responses(kind: str, key: str, value: str) -> list[Strand]:
    return [Strand(("input", 1, "type"), kind), Strand(("input", 1, key), value)]


EXEMPT = [
    ("assistant", "thinking", "signature"),
    ("Assistant", "thinking", "signature"),
    ("assistant", "redacted_thinking", "data"),
    ("assistant", "web_search_result", "encrypted_content"),
    ("assistant", "web_search_result_location", "encrypted_index"),
]
NOT_EXEMPT = [
    ("user", "thinking", "signature"),
    ("user", "web_search_result", "encrypted_content"),
    ("assistant", "text", "text"),
    ("assistant", "text", "signature"),
    ("assistant", "tool_use", "data"),
    ("assistant", "thinking", "thinking"),
]


@pytest.mark.parametrize("position", EXEMPT)
def test_sealed_positions(screen, position):
    """An assistant's signatures and encrypted content are noise by nature."""
    assert screen.findings(anthropic(*position, NOISE)) == ()


@pytest.mark.parametrize("position", NOT_EXEMPT)
def test_other_positions(screen, position):
    """The same bytes one key, one type or one role away are ambiguous."""
    assert screen.findings(anthropic(*position, NOISE))


def test_reasoning_items(screen):
    """Responses: the encrypted content of a reasoning item, not that of a message."""
    assert screen.findings(responses("reasoning", "encrypted_content", NOISE)) == ()
    assert screen.findings(responses("message", "encrypted_content", NOISE))
    assert screen.findings(responses("reasoning", "summary", NOISE))
    assert screen.findings([Strand((), NOISE)])


def test_a_sealed_position_is_no_hiding_place(screen):
    """The deny corpus and certain kinds run there too, and free text there is free text."""
    assert screen.findings(anthropic("assistant", "thinking", "signature", f"{NOISE}{SECRET}"))
    words = Mnemonic("english").to_mnemonic(bytes(range(11, 27)))
    assert screen.findings(anthropic("assistant", "thinking", "signature", words))
