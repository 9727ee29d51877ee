"""Lines of defence, broken on purpose and in this process only.

Owns how each is broken. Whatever is broken here, the demo has to notice by what arrives.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


@contextmanager
def broken(name: str | None) -> Iterator[None]:
    """Break the defence of that name for the length of the `with`; None breaks nothing."""
    with ExitStack() as stack:
        for owner, attribute, substitute in _breaches(name):
            stack.callback(setattr, owner, attribute, getattr(owner, attribute))
            setattr(owner, attribute, substitute)
        yield


def _breaches(name: str | None) -> list[tuple[object, str, object]]:
    match name:
        case None:
            return []
        case "frame":
            return _frame()
        case "screen":
            return _screen()
        case "ledger":
            return _ledger()
        case "redirect":
            return _redirect()
        case _:
            raise ValueError(f"no defence is called {name!r}")


def _frame() -> list[tuple[object, str, object]]:
    from proxy.dialects import framing

    def bare(label: str, text: str, **_: object) -> str:
        return text

    return [(framing, "wrap_untrusted", bare)]


def _screen() -> list[tuple[object, str, object]]:
    from policies.screening import Screen

    def blind(*_: object) -> tuple[()]:
        return ()

    return [(Screen, "findings", blind), (Screen, "seam", blind)]


def _ledger() -> list[tuple[object, str, object]]:
    from policies.conversation import Conversation
    from policies.decision import Claimed, Decision, Remembered
    from proxy.ledger import Ledger

    async def forget(
        ledger: Ledger, client: str, conversation: Conversation, **more: object
    ) -> Remembered:
        return Remembered({})

    async def keep_nothing(
        ledger: Ledger,
        client: str,
        conversation: Conversation,
        decision: Decision,
        **more: object,
    ) -> Claimed:
        return Claimed({frame.unit: frame.row for frame in decision.frames})

    return [(Ledger, "recall", forget), (Ledger, "claim", keep_nothing)]


def _redirect() -> list[tuple[object, str, object]]:
    from yarl import URL

    from proxy.exchange import Exchange, Response

    straight = Exchange.ask

    async def follow(exchange: Exchange, base_url: str, *what: Any, **how: Any) -> Response:
        response = await straight(exchange, base_url, *what, **how)
        if 300 <= response.status < 400:
            elsewhere = str(URL(response.headers["Location"]).origin())
            response.close()
            return await straight(exchange, elsewhere, *what, **how)
        return response

    return [(Exchange, "ask", follow)]
