"""A fake Messages endpoint that is as fast as Python allows: it counts body bytes and answers.

`python -m bench.upstream [SECONDS]` prints `listening http://HOST:PORT` on stderr. A body that ends
in `"stream":true}` is answered with `EVENTS` events, one every so many seconds (else `PACE`), each
carrying the clock at which it left.
"""

import asyncio
import sys
import time

EVENTS = 100
PACE = 0.010  # seconds between events

_MESSAGE = (
    b'{"id":"msg_bench","type":"message","role":"assistant","model":"bench","content":[{"type":'
    b'"text","text":"' + b"A short answer. " * 16 + b'"}],"stop_reason":"end_turn",'
    b'"stop_sequence":null,"usage":{"input_tokens":100,"output_tokens":64}}'
)
_WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
    len(_MESSAGE),
    _MESSAGE,
)
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    b"cache-control: no-cache\r\n\r\n"
)


def _chunk(name: str, data: str) -> bytes:
    event = f"event: {name}\ndata: {data}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(event), event)


_START = _chunk(
    "message_start",
    '{"type":"message_start","message":{"id":"msg_bench","type":"message","role":"assistant",'
    '"model":"bench","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}',
)
_END = _chunk("message_stop", '{"type":"message_stop"}') + b"0\r\n\r\n"


class Upstream(asyncio.Protocol):
    """One connection: requests one after the other, bodies by Content-Length."""

    def __init__(self, pace: float) -> None:
        self._pace = pace

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._head = b""
        self._left = -1
        self._tail = b""
        self._task: asyncio.Task[None] | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._left < 0:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            self._left = _length(self._head[:end])
            data = self._head[end + 4 :]
            self._head = b""
        self._left -= len(data)
        self._tail = (self._tail + data)[-32:]
        if self._left <= 0:
            self._left = -1
            self._answer()

    def _answer(self) -> None:
        if self._tail.endswith(b'"stream":true}'):
            self._task = asyncio.get_running_loop().create_task(self._stream())
        else:
            self._transport.write(_WHOLE)

    async def _stream(self) -> None:
        self._transport.write(_HEAD + _START)
        due = time.monotonic()
        for _ in range(EVENTS):
            due += self._pace
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            text = f'{{"type":"text_delta","text":"at={time.monotonic_ns()};"}}'
            delta = f'{{"type":"content_block_delta","index":0,"delta":{text}}}'
            self._transport.write(_chunk("content_block_delta", delta))
        self._transport.write(_END)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


async def main() -> None:
    pace = float(sys.argv[1]) if len(sys.argv) > 1 else PACE
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Upstream(pace), "127.0.0.1", 0, backlog=1024)
    host, port = server.sockets[0].getsockname()[:2]
    print(f"listening http://{host}:{port}", file=sys.stderr, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
