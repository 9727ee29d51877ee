"""A fake Messages endpoint that is as fast as Python allows: it counts body bytes and answers.

`python -m bench.upstream` prints `listening http://HOST:PORT` on stderr. A body that ends in
`"stream":true}` is answered with events, as many and as far apart as the header `bench-stream:
EVENTS MILLISECONDS` says (else `EVENTS` and `PACE`). Paced events carry the clock at which they
left; with 0 milliseconds they leave as fast as they are read, which is a burst.
"""

import asyncio
import re
import sys
import time

EVENTS = 100
PACE = 0.010  # seconds between events
BATCH = 64  # events of a burst that are written together

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
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_STREAM = re.compile(rb"\r\nbench-stream: *(\d+) (\d+)", re.IGNORECASE)


def _chunk(name: str, data: str) -> bytes:
    event = f"event: {name}\ndata: {data}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(event), event)


def _delta(text: str) -> bytes:
    delta = f'{{"type":"text_delta","text":"{text}"}}'
    data = f'{{"type":"content_block_delta","index":0,"delta":{delta}}}'
    return _chunk("content_block_delta", data)


_START = _chunk(
    "message_start",
    '{"type":"message_start","message":{"id":"msg_bench","type":"message","role":"assistant",'
    '"model":"bench","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}',
)
_END = _chunk("message_stop", '{"type":"message_stop"}') + b"0\r\n\r\n"
_PLAIN = _delta("Sixty-four characters of an answer that nobody will ever look at.")


class Upstream(asyncio.Protocol):
    """One connection: requests one after the other, bodies by Content-Length."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._head = b""
        self._left = -1
        self._tail = b""
        self._plan = (EVENTS, PACE)
        self._task: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def data_received(self, data: bytes) -> None:
        if self._left < 0:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._head[:end]
            length, stream = _LENGTH.search(head), _STREAM.search(head)
            self._left = int(length[1]) if length else 0
            self._plan = (int(stream[1]), int(stream[2]) / 1000) if stream else (EVENTS, PACE)
            data = self._head[end + 4 :]
            self._head = b""
        self._left -= len(data)
        self._tail = (self._tail + data)[-32:]
        if self._left <= 0:
            self._left = -1
            self._answer()

    def _answer(self) -> None:
        if not self._tail.endswith(b'"stream":true}'):
            self._transport.write(_WHOLE)
            return
        events, pace = self._plan
        told = self._paced(events, pace) if pace else self._burst(events)
        self._task = asyncio.get_running_loop().create_task(told)

    async def _paced(self, events: int, pace: float) -> None:
        self._transport.write(_HEAD + _START)
        due = time.monotonic()
        for _ in range(events):
            due += pace
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            self._transport.write(_delta(f"at={time.monotonic_ns()};"))
        self._transport.write(_END)

    async def _burst(self, events: int) -> None:
        batch = _PLAIN * BATCH
        self._transport.write(_HEAD + _START)
        for _ in range(events // BATCH):
            await self._room.wait()
            self._transport.write(batch)
        self._transport.write(_PLAIN * (events % BATCH) + _END)


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Upstream, "127.0.0.1", 0, backlog=1024)
    host, port = server.sockets[0].getsockname()[:2]
    print(f"listening http://{host}:{port}", file=sys.stderr, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
