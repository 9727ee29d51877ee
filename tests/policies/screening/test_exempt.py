"""What a provider sealed is left alone at exactly its positions, and nowhere else."""

import base64
import random

import pytest
from mnemonic import Mnemonic

from policies.conversation import Strand
from policies.screening import Screen, rules

NOISE = base64.b64encode(random.Random(9).randbytes(6000)).decode()
SECRET = "Zq7xW2pL9rTf"
SAMPLE = next(rule.yes[0] for rule in rules.load() if rule.id == "nsec").decode()


@pytest.fixture(scope="module")
def screen() -> Screen:
    return Screen.build({"f": SECRET.encode()})


def anthropic(role: str, kind: str, way: tuple[str | int, ...], value: str) -> list[Strand]:
    part = ("messages", 1, "content", 0)
    return [
        Strand(("messages", 1, "role"), role),
        Strand((*part, "type"), kind),
        Strand((*part, way[0]), str(way[0]), is_key=True),
        Strand((*part, *way), value),
    ]


def responses(kind: str, key: str, value: str) -> list[Strand]:
    return [Strand(("input", 1, "type"), kind), Strand(("input", 1, key), value)]


EXEMPT = [
    ("assistant", "thinking", ("signature",)),
    ("Assistant", "thinking", ("signature",)),
    ("assistant", "redacted_thinking", ("data",)),
    ("assistant", "web_search_tool_result", ("content", 0, "encrypted_content")),
    ("assistant", "code_execution_tool_result", ("content", "encrypted_stdout")),
    ("assistant", "compaction", ("encrypted_content",)),
    ("assistant", "text", ("citations", 0, "encrypted_index")),
]
NOT_EXEMPT = [
    ("user", "thinking", ("signature",)),
    ("user", "web_search_tool_result", ("content", 0, "encrypted_content")),
    ("assistant", "text", ("text",)),
    ("assistant", "text", ("signature",)),
    ("assistant", "text", ("encrypted_content",)),
    ("assistant", "tool_use", ("data",)),
    ("assistant", "tool_use", ("input", "encrypted_content")),
    ("assistant", "new_block", ("encrypted_content",)),
    ("assistant", "thinking", ("thinking",)),
    ("assistant", "thinking", ("signature", "data")),
    ("assistant", "thinking", ("signature", 0)),
    ("assistant", "web_search_tool_result", ("content", 0)),
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


@pytest.mark.parametrize("top", ["metadata", "tools", "new"])
@pytest.mark.parametrize("kind", ["reasoning", "thinking", "compaction"])
def test_nothing_beside_the_messages_is_sealed(screen, top, kind):
    """Whatever a client writes there is its own, however it is called."""
    for key in ("encrypted_content", "signature", "data"):
        for way in ((top, 0), (top, "a"), (top,)):
            named = Strand((*way, "type"), kind)
            spoken = Strand((*way, "role"), "assistant")
            assert screen.findings([spoken, named, Strand((*way, key), NOISE)])


def test_a_sealed_position_is_no_hiding_place(screen):
    """The deny corpus and certain kinds run there too, and free text there is free text."""
    assert screen.findings(anthropic("assistant", "thinking", ("signature",), f"{NOISE}{SECRET}"))
    assert screen.findings(anthropic("assistant", "thinking", ("signature",), SECRET))
    words = Mnemonic("english").to_mnemonic(bytes(range(11, 27)))
    assert screen.findings(anthropic("assistant", "thinking", ("signature",), words))


@pytest.mark.parametrize("position", EXEMPT)
def test_what_a_sealed_run_would_be_a_coding_of_is_read(screen, position):
    """Whoever writes a history may write a coded secret where a signature stands."""
    for text in (SECRET, SAMPLE):
        coded = base64.b64encode(f"it says {text}, and so on".encode()).decode()
        assert screen.findings(anthropic(*position, coded))
