"""The bare aiohttp proxy that Transom is compared with: bytes in, bytes out, nothing looked at.

`python -m bench.baseline URL` prints `listening http://HOST:PORT` on stderr.
"""

import asyncio
import sys

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, web

HOP = {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "host"}


async def proxy(upstream: str) -> None:
    session = ClientSession(
        connector=TCPConnector(limit=0),
        cookie_jar=DummyCookieJar(),
        timeout=ClientTimeout(total=None),
        auto_decompress=False,
    )

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        headers = [(k, v) for k, v in request.headers.items() if k.lower() not in HOP]
        body = await request.content.read()  # `request.read` has a limit of 1 MiB
        async with session.request(
            request.method, upstream + request.path_qs, headers=headers, data=body
        ) as answer:
            kept = [(k, v) for k, v in answer.headers.items() if k.lower() not in HOP]
            response = web.StreamResponse(status=answer.status)
            response.headers.extend(kept)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    print(f"listening http://{host}:{port}", file=sys.stderr, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(proxy(sys.argv[1]))
