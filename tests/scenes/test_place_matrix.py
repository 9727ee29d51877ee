"""A key planted in every place of a request, in every coding, in every dialect: the upstream's
socket sees no byte of any of them.

One node serves all cases; what was cleared before must not clear what comes after. A case is a way
to plant a text in a good body, in its headers or in its address.
"""

import base64
import gzip
import json
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from backports import zstd

from proxy import logs
from proxy.serve import clean_names
from tests.scenes.bodies import BODIES, MODEL, PATHS, secret
from tests.scenes.staging import Stage, staged

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOISE = random.Random(12)
Body = dict[str, Any]
COUNT = {
    "anthropic_messages": "/v1/messages/count_tokens",
    "openai_responses": "/v1/responses/input_tokens",
}
TEXT = {
    "/v1/completions": {"model": MODEL, "prompt": "{}"},
    "/v1/embeddings": {"model": MODEL, "input": ["fine", "{}"]},
    "/v1/moderations": {"model": MODEL, "input": "{}"},
    "/api/generate": {"model": MODEL, "prompt": "{}", "system": "fine"},
    "/api/embed": {"model": MODEL, "input": ["{}"]},
}
PAIRED = ("anthropic_messages", "openai_chat", "openai_responses", "ollama_chat")


@dataclass
class Case:
    """What is sent. `typed`: the notice code of the refusal."""

    path: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    typed: str = "egress-blocked"


# Codings of the body


def whole(raw: bytes) -> tuple[bytes, str]:
    return raw, ""


CODINGS: dict[str, Callable[[bytes], tuple[bytes, str]]] = {
    "identity": whole,
    "gzip": lambda raw: (gzip.compress(raw), "gzip"),
    "deflate": lambda raw: (zlib.compress(raw), "deflate"),
    "zstd": lambda raw: (zstd.compress(raw), "zstd"),
    "two gzip members": lambda raw: (gzip.compress(raw[:90]) + gzip.compress(raw[90:]), "gzip"),
    "two zstd frames": lambda raw: (zstd.compress(raw[:90]) + zstd.compress(raw[90:]), "zstd"),
}

# Places in the JSON, of any dialect


def listed(dialect: str, body: Body) -> list[Any]:
    found: list[Any] = body["input" if dialect == "openai_responses" else "messages"]
    return found


def tool(dialect: str, body: Body) -> Body:
    """The declaration of the tool, where its schema stands."""
    one: Body = body["tools"][0]
    inner: Body = one.get("function", one)
    return inner


def schema(dialect: str) -> str:
    return "input_schema" if dialect == "anthropic_messages" else "parameters"


def call(dialect: str, body: Body) -> Body:
    message = listed(dialect, body)[1]
    if dialect == "anthropic_messages":
        return message["content"][0]  # type: ignore[no-any-return]
    return message if dialect == "openai_responses" else message["tool_calls"][0]["function"]  # type: ignore[no-any-return]


def argue(dialect: str, body: Body, word: str, key: str = "path") -> None:
    """Arguments of the call: JSON in a string in the OpenAI dialects, an object in the others."""
    given: Any = {key: f"a\n{word}"}
    if dialect == "anthropic_messages":
        call(dialect, body)["input"] = given
    elif dialect == "ollama_chat":
        call(dialect, body)["arguments"] = given
    else:
        call(dialect, body)["arguments"] = json.dumps({"inner": json.dumps(given)})


def system(dialect: str, body: Body, word: str) -> None:
    if dialect == "anthropic_messages":
        body["system"] = [{"type": "text", "text": word}]
    elif dialect == "openai_responses":
        body["instructions"] = word
    else:
        body["messages"].insert(0, {"role": "system", "content": word})


def say(dialect: str, body: Body, part: Any) -> None:
    """A content part of the user."""
    listed(dialect, body)[0]["content"] = [part]


def picture(raw: bytes) -> bytes:
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes(13)) + raw + chunk(b"IDAT", NOISE.randbytes(99))
    )


def comment(text: str) -> bytes:
    return b"\xff\xd8\xff\xfe\0\x50" + text.encode() + b"\xff\xda" + NOISE.randbytes(90)


def chunk(kind: bytes, content: bytes) -> bytes:
    checked = kind + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))


def show(dialect: str, body: Body, raw: bytes, media: str = "image/png") -> None:
    """A picture, as each dialect takes it."""
    data = base64.b64encode(raw).decode()
    shown = f"data:{media};base64,{data}"
    match dialect:
        case "anthropic_messages":
            source = {"type": "base64", "media_type": media, "data": data}
            say(dialect, body, {"type": "image", "source": source})
        case "openai_chat":
            say(dialect, body, {"type": "image_url", "image_url": {"url": shown}})
        case "openai_responses":
            say(dialect, body, {"type": "input_image", "image_url": shown})
        case _:
            listed(dialect, body)[0]["images"] = [data]


def attach(dialect: str, body: Body, text: str) -> None:
    """A document with the text in it, as each dialect takes it."""
    match dialect:
        case "anthropic_messages":
            source = {"type": "text", "media_type": "text/plain", "data": text}
            say(dialect, body, {"type": "document", "title": "notes", "source": source})
        case "openai_chat":
            file = {"filename": "n.txt", "file_data": uri(text)}
            say(dialect, body, {"type": "file", "file": file})
        case "openai_responses":
            say(dialect, body, {"type": "input_file", "filename": "n", "file_data": uri(text)})
        case _:
            listed(dialect, body)[0]["content"] = f"attached: {uri(text)}"


def uri(text: str) -> str:
    return f"data:text/plain;base64,{base64.b64encode(text.encode()).decode()}"


Plant = Callable[[str, Body, str], None]


def put(*way: str | int) -> Plant:
    """The word at `way`."""

    def plant(dialect: str, body: Body, word: str) -> None:
        at: Any = body
        for step in way[:-1]:
            at = at.setdefault(step, {}) if isinstance(step, str) else at[step]
        at[way[-1]] = word

    return plant


PLACES: dict[str, Plant] = {
    "tool result": lambda d, b, w: b.update(BODIES[d](f"line\n{w}\n")),
    "last of a long result": lambda d, b, w: b.update(BODIES[d]("fine line\n" * 21_000 + w)),
    "user": lambda d, b, w: listed(d, b)[0].update(content=f"it is {w}"),
    "user, in a list": lambda d, b, w: say(d, b, {"type": "text", "text": w}),
    "a part of an unknown type": lambda d, b, w: say(d, b, {"type": "new_part", "x": {"y": [w]}}),
    "system": system,
    "tool name": lambda d, b, w: tool(d, b).update(name=w),
    "tool description": lambda d, b, w: tool(d, b).update(description=f"reads {w}"),
    "tool schema, enum": lambda d, b, w: tool(d, b).update(
        {schema(d): {"type": "object", "properties": {"a": {"enum": ["x", w]}}}}
    ),
    "tool schema, key": lambda d, b, w: tool(d, b).update(
        {schema(d): {"type": "object", "properties": {w: {}}}}
    ),
    "tool argument": argue,
    "key of a tool argument": lambda d, b, w: argue(d, b, "fine", w),
    "metadata": put("metadata", "note"),
    "key of metadata": lambda d, b, w: b.update(metadata={w: "1"}),
    "user name": put("user"),
    "user id": put("metadata", "user_id"),
    "model": put("model"),
    "stop sequence": lambda d, b, w: b.update(stop=["x", w], stop_sequences=[w]),
    "an unknown member": put("x_new", "deep", "er"),
    "an unknown key": lambda d, b, w: b.update({w: 1}),
    "a role": lambda d, b, w: listed(d, b).append({"role": w, "content": "x"}),
    "a response format": put("response_format", "json_schema", "name"),
    "name of a message": lambda d, b, w: listed(d, b)[0].update(name=w),
    "picture, tEXt": lambda d, b, w: show(d, b, picture(chunk(b"tEXt", b"a\0" + w.encode()))),
    "picture, zTXt": lambda d, b, w: show(
        d, b, picture(chunk(b"zTXt", b"a\0\0" + zlib.compress(w.encode())))
    ),
    "picture, iTXt": lambda d, b, w: show(
        d, b, picture(chunk(b"iTXt", b"a\0\0\0\0\0" + w.encode()))
    ),
    "picture, packed iTXt": lambda d, b, w: show(
        d, b, picture(chunk(b"iTXt", b"a\0\1\0\0\0" + zlib.compress(w.encode())))
    ),
    "picture, behind its end": lambda d, b, w: show(
        d, b, picture(chunk(b"IEND", b"")) + b"\n" + w.encode()
    ),
    "picture, comment of a JPEG": lambda d, b, w: show(d, b, comment(w), "image/jpeg"),
    "text that is called a picture": lambda d, b, w: show(d, b, f"some text, {w}".encode()),
    "attachment": attach,
    "halves in two keys": lambda d, b, w: b.update(metadata={w[:30]: "1", w[30:]: "2"}),
    "thirds in three keys of an argument": lambda d, b, w: b.update(
        x_new={w[:20]: {}, w[20:40]: {}, w[40:]: {}}
    ),
    "halves in two values": lambda d, b, w: b.update(metadata={"a": w[:30], "b": w[30:]}),
    "thirds in three messages": lambda d, b, w: listed(d, b).extend(
        {"role": "user", "content": part} for part in (w[:25], w[25:45], w[45:])
    ),
    "numbers of the body itself": lambda d, b, w: b.update(metadata={"a": list(w.encode())}),
    "hex glued to a path": lambda d, b, w: b.update(BODIES[d](f"a/{w.encode().hex()}/b")),
    "picture, iCCP": lambda d, b, w: show(
        d, b, picture(chunk(b"iCCP", b"a\0\0" + zlib.compress(w.encode())))
    ),
    "letter by letter": lambda d, b, w: b.update(BODIES[d](" ".join(w))),
    "as a list of letters": lambda d, b, w: b.update(BODIES[d](json.dumps(list(w)))),
    "as a list of bytes": lambda d, b, w: b.update(BODIES[d](json.dumps(list(w.encode())))),
    "in UTF-16": lambda d, b, w: b.update(
        BODIES[d](base64.b64encode(w.encode("utf-16")).decode())
    ),
    "quoted-printable": lambda d, b, w: b.update(BODIES[d](f"{w[:40]}=\n{w[40:]}")),
    "wrapped": lambda d, b, w: b.update(BODIES[d](f"{w[:40]}\n    {w[40:]}")),
    "data URI in a text": lambda d, b, w: say(d, b, {"type": "text", "text": f"![]({uri(w)})"}),
}  # fmt: skip

SPELLINGS: dict[str, Callable[[str], str]] = {
    "escaped": lambda word: "".join(f"\\u{ord(c):04x}" for c in word),
    "escaped here and there": lambda word: word.replace("e", "\\u0065").replace("s", "\\u0073"),
}
"""How the word may be spelled in the raw JSON."""


def cases(dialect: str) -> Iterator[tuple[str, Case]]:
    word, path, make = secret(), PATHS[dialect], BODIES[dialect]
    for name, plant in PLACES.items():
        body = make("fine")
        plant(dialect, body, word)
        yield name, Case(path, json.dumps(body).encode())
    planted = json.dumps(make(f"it is {word}")).encode()
    for name, code in CODINGS.items():
        raw, coding = code(planted)
        yield name, Case(path, raw, {"content-encoding": coding} if coding else {})
    for name, spell in SPELLINGS.items():
        yield name, Case(path, planted.replace(word.encode(), spell(word).encode()))
    fine = json.dumps(make("fine")).encode()
    for name, twin in (("equal keys", "model"), ("keys of other case", "Model")):
        for order in (
            f'{{"{twin}":"{word}",'.encode() + fine[1:],
            fine[:-1] + f',"{twin}":"{word}"}}'.encode(),
        ):
            yield name, Case(path, order, typed="body-invalid")
    lone = fine.replace(b'"fine"', f'"\\\\ud800 {word}"'.encode().replace(b"\\\\", b"\\"))
    yield "half a surrogate pair", Case(path, lone, typed="body-invalid")
    yield "header", Case(path, fine, {"x-note": word})
    yield "header, coded", Case(path, fine, {"x-note": base64.b64encode(word.encode()).decode()})
    yield "name of a header", Case(path, fine, {word: "1"})
    yield "user agent", Case(path, fine, {"user-agent": f"agent/{word}"})
    yield "beta header", Case(path, fine, {"anthropic-beta": word})
    yield "query", Case(f"{path}?note={word}", fine)
    yield "header, in halves of two", Case(path, fine, {"x-a": word[:30], "x-b": word[30:]})
    yield "query, in names", Case(f"{path}?{word[:30]}&{word[30:]}=1", fine)
    yield "query, in halves", Case(f"{path}?a={word[:30]}&b={word[30:]}", fine)
    yield "query, escaped", Case(f"{path}?note=" + "".join(f"%{ord(c):02X}" for c in word), fine)
    if dialect in COUNT:
        yield "count", Case(COUNT[dialect], planted)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> Any:
    async with staged() as made:
        secrets = made.node.parts.secrets
        logs.set_up(made.log, json=True, clean=clean_names(secrets.current))
        yield made


async def nothing_leaves(stage: Stage, case: Case) -> None:
    """A typed refusal, an error line with kind and place, the value nowhere, no connection."""
    stage.log.seek(0)
    stage.log.truncate()
    accepted = stage.upstream.accepted
    answer = await stage.post(case.path, case.body, case.headers)
    assert stage.upstream.accepted == accepted
    assert (answer.status, answer.headers["x-transom-notice"]) == (400, case.typed)
    shown = stage.log.getvalue() + answer.body.decode() + str(answer.headers)
    assert secret() not in shown
    if case.typed == "egress-blocked":
        (line,) = stage.events("egress_blocked")
        assert line["level"] == "error"
        assert "nostr_key" in line["kinds"]
        assert line["places"]
        assert all(line["places"])


@pytest.mark.parametrize("dialect", PATHS)
async def test_no_place_and_no_coding_lets_a_key_out(stage: Stage, dialect: str) -> None:
    """Every place × every dialect, every coding, spelling, header and part of the address."""
    tried = 0
    for name, case in cases(dialect):
        try:
            await nothing_leaves(stage, case)
        except AssertionError as wrong:
            raise AssertionError(f"{dialect}: {name}") from wrong
        tried += 1
    assert tried > 50


@pytest.mark.parametrize("path", TEXT)
async def test_no_text_endpoint_lets_a_key_out(stage: Stage, path: str) -> None:
    """Endpoints that take a plain text are read like the others."""
    body = json.dumps(TEXT[path]).replace("{}", f"it is {secret()}").encode()
    await nothing_leaves(stage, Case(path, body))
    packed = gzip.compress(body)
    await nothing_leaves(stage, Case(path, packed, {"content-encoding": "gzip"}))


@pytest.mark.parametrize("dialect", PATHS)
async def test_the_same_bodies_leave_without_the_key(dialect: str) -> None:
    """The matrix refuses for the key's sake: with an ordinary word in its place all passes."""
    async with staged() as stage:
        for name, plant in PLACES.items():
            body = BODIES[dialect]("fine")
            plant(dialect, body, "an_ordinary_word")
            if name == "text that is called a picture":
                continue
            answer = await stage.post(PATHS[dialect], body)
            assert answer.status == 200, name
