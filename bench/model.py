"""A fake model at home: every answer takes as long to its first word as a small model's does.

`python -m bench.model` prints `listening http://HOST:PORT` on stderr. It answers `/api/show` as an
Ollama, `/api/chat` with JSON lines and `/v1/messages` with events, `FIRST` seconds after the last
byte of the question, head and first word together; `/api/version` is not known to it, so that the
same server may be asked straight.
"""

import asyncio
import json
import re
import sys
from typing import Any

FIRST = 0.2
"""Seconds to the first word: a small model on a fast machine with a short question."""

WORDS = 20
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_SHOWN = {
    "details": {"format": "gguf", "family": "bench", "parent_model": ""},
    "model_info": {"general.architecture": "bench", "bench.context_length": 131_072},
    "capabilities": ["completion", "tools"],
}


def _whole(status: str, value: object) -> bytes:
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


def _begun(content_type: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked"
    return f"{head}\r\n\r\n".encode()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _lines() -> list[bytes]:
    base = {"model": "bench", "created_at": "2026-01-01T00:00:00Z"}
    word = {**base, "message": {"role": "assistant", "content": "word "}, "done": False}
    end = {**word, "done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 9}
    return [json.dumps(each).encode() + b"\n" for each in (*[word] * WORDS, end)]


def _events() -> list[bytes]:
    message = {"id": "msg_b", "type": "message", "role": "assistant", "model": "bench"}
    delta = {"type": "text_delta", "text": "word "}
    told: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": []}},
        *[{"type": "content_block_delta", "index": 0, "delta": delta}] * WORDS,
        {"type": "message_stop"},
    ]
    return [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in told]


_ANSWERS = {
    b"/api/chat": (_begun("application/x-ndjson"), _lines()),
    b"/v1/messages": (_begun("text/event-stream"), _events()),
}


class Model(asyncio.Protocol):
    """One connection: requests one after the other, bodies by Content-Length."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._seen = bytearray()
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_lost(self, exc: Exception | None) -> None:
        for task in self._tasks:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        self._seen += data
        end = self._seen.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._seen[:end])
        length = _LENGTH.search(head)
        if len(self._seen) < end + 4 + int(length[1] if length else 0):
            return
        self._seen.clear()
        path = head.split(b" ", 2)[1]
        if path in _ANSWERS:
            task = asyncio.get_running_loop().create_task(self._speak(*_ANSWERS[path]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif path == b"/api/show":
            self._transport.write(_whole("200 OK", _SHOWN))
        else:
            self._transport.write(_whole("404 Not Found", {"error": "not found"}))

    async def _speak(self, head: bytes, parts: list[bytes]) -> None:
        await asyncio.sleep(FIRST)
        self._transport.write(head + _chunk(parts[0]))
        for part in parts[1:]:
            await asyncio.sleep(0)
            self._transport.write(_chunk(part))
        self._transport.write(b"0\r\n\r\n")


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Model, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    print(f"listening http://{host}:{port}", file=sys.stderr, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
