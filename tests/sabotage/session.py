"""The library's session in place of the exchange: what would be if the house went back to it."""

from typing import Any

import aiohttp

from proxy.exchange import Exchange


def by_session(*, follow: bool = False, **given: Any) -> Any:
    """`Exchange.ask` by a session that is made with `given`; `follow`: redirects are followed."""

    async def ask(
        self: Any,
        base_url: str,
        method: str,
        address: str,
        headers: Any,
        body: bytes,
        **limits: Any,
    ) -> Any:
        if not hasattr(self, "session"):
            made = {name: make() if callable(make) else make for name, make in given.items()}
            self.session = aiohttp.ClientSession(auto_decompress=False, **made)
        response = await self.session.request(
            method, base_url + address, headers=headers, data=body or None, allow_redirects=follow
        )
        response.protocol = aiohttp.streams.EMPTY_PAYLOAD
        return response

    return ask


async def closed(self: Any) -> None:
    """`Exchange.close` beside it."""
    if hasattr(self, "session"):
        await self.session.close()
    await REAL_CLOSE(self)


REAL_CLOSE = Exchange.close
