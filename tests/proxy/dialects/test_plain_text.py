"""Text endpoints: every member is a piece, token ids and pictures are opaque, streams by family."""

import json

import pytest

from policies.conversation import Conversation
from proxy.dialects import ALL
from proxy.lazyjson import read


def view(dialect: str, body: object) -> Conversation:
    return ALL[dialect].view(read(json.dumps(body).encode()))


@pytest.mark.parametrize("dialect", [name for name in ALL if name.startswith("plain_text")])
def test_every_member_is_a_piece(dialect: str) -> None:
    """Also `messages`: there is no conversation here, so nothing is a message."""
    body = {"model": "m", "prompt": ["p"], "messages": [{"role": "user"}]}
    conversation = view(dialect, body)
    assert (conversation.dialect, conversation.model) == (dialect, "m")
    assert [piece.address for piece in conversation.pieces] == [(key,) for key in body]
    strings = [[strand.text for strand in piece.strands()] for piece in conversation.pieces]
    assert strings == [["model", "m"], ["prompt", "p"], ["messages", "role", "user"]]
    assert (conversation.units, conversation.messages, conversation.runs) == ((), (), ())


@pytest.mark.parametrize(
    ("body", "opaque"),
    [
        ({"prompt": "text", "context": [1, 2]}, [("context",)]),
        ({"context": []}, []),
        ({"images": ["iVBORw0KGgo="]}, [("images",)]),
        ({"image": "iVBORw0KGgo="}, [("image",)]),
        ({"input": [1, 2]}, [("input",)]),
        ({"input": ["a", "b"]}, []),
        ({"prompt": [[1], ["x"]]}, [("prompt", 0)]),
        ({"input": [{"type": "text", "text": "t"}, {"image_url": {}}]}, [("input", 1)]),
    ],
)
def test_what_cannot_be_read_is_placed(body: object, opaque: list[tuple[str | int, ...]]) -> None:
    """Token ids are text that only the model can read."""
    assert list(view("plain_text_ollama", body).opaque) == opaque


def test_files_by_id_are_held_upstream() -> None:
    """A batch that names an uploaded file leans on it."""
    assert view("plain_text_openai", {"input_file_id": "file-1"}).held == ("input_file_id",)


@pytest.mark.parametrize(
    ("dialect", "body", "stream"),
    [
        ("plain_text_ollama", {}, True),
        ("plain_text_ollama", {"stream": None}, True),
        ("plain_text_ollama", {"stream": False}, False),
        ("plain_text_openai", {}, False),
        ("plain_text_openai", {"stream": True}, True),
        ("plain_text_anthropic", {}, False),
    ],
)
def test_whether_a_stream_is_asked_for(dialect: str, body: object, stream: bool) -> None:
    """Ollama streams unless told not to."""
    assert view(dialect, body).stream is stream


def test_names_and_families() -> None:
    """Each dialect stands under its own name, in a family that the configuration knows."""
    assert all(name == dialect.name for name, dialect in ALL.items())
    assert {dialect.family for dialect in ALL.values()} == {"anthropic", "openai", "ollama"}
