"""The story of one request: read, view, recall, decide, claim, render, prove, send, relay.

Owns its order, its end and its line in the log. It must not know a dialect, a policy or an
upstream. If a new dialect, kind of secret, policy or store needs an edit here, the design has
slipped. `proxy.errand` tells the middle of the story, `proxy.outgoing` the heart of that.
"""

from collections.abc import Callable

from aiohttp import web
from msgspec.structs import replace

from proxy import bodies, browsers
from proxy.answer import relay
from proxy.dialects import ALL
from proxy.door import Admitted, dress
from proxy.endpoints import Treatment
from proxy.errand import Errand, House
from proxy.errors import Refused
from proxy.headers import Headers
from proxy.journal import Clock, Line
from proxy.owner import Case
from proxy.refusals import in_stream, refusal
from proxy.server import read_body


class Gateway:
    """Handles every request of a listener. `house` may be exchanged at any time: a request keeps
    the one that it began with."""

    def __init__(self, house: House, *, new_id: Callable[[], str], clock: Clock) -> None:
        self.house = house
        self._new_id = new_id
        self._clock = clock

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer with the upstream's answer, or with a refusal in the caller's dialect."""
        house, line = self.house, Line.begin(self._new_id(), self._clock)
        case = Case(line)
        grant = house.door.grant(request.headers)
        try:
            return await self._story(request, house, case, grant)
        except Refused as no:
            return await _refuse(request, house, case, no, grant)
        except Exception as error:
            # One of three places: a bug of ours must end in an answer and a line, and leak nothing.
            line.failed(error)
            if request.writer.output_size:
                raise
            return await _refuse(request, house, case, Refused("internal-error"), grant)
        finally:
            line.end(bytes_out=request.writer.output_size)

    async def _story(
        self, request: web.BaseRequest, house: House, case: Case, grant: Headers
    ) -> web.StreamResponse:
        line = case.line
        admitted = house.door.admit_request(request)
        endpoint = admitted.match.endpoint
        line.know(
            client=admitted.client,
            session=house.session(admitted, None) if admitted.session else "",
            dialect=endpoint.dialect,
            endpoint=endpoint.path,
        )
        if admitted.match.forgiven:
            line.forgiven()
        if admitted.asks:
            line.know(status=204)
            return web.Response(status=204, headers=[*grant, *browsers.leave(request.headers)])
        if endpoint.treatment is Treatment.INTERNAL:
            line.know(status=200)
            return web.Response(text="ok\n", headers=grant)
        body = await _body(request, admitted, house)
        line.fields["bytes_in"] = len(body)
        answer = await Errand(house, admitted, case).run(body)
        line.fields["status"] = answer.status
        if grant:
            answer = replace(answer, headers=browsers.without(answer.headers))

        def broken(no: Refused) -> bytes:
            line.broke(no.code)
            return in_stream(no, ALL[endpoint.dress])

        return await relay(
            answer,
            request,
            extra_headers=[*line.headers(), *grant],
            stream_error=broken,
            failed=house.owner.deaf,
            broke=lambda no: line.broke(no.code),
            keep_alive=lambda begun: ALL[endpoint.dress].keep_alive(begun=begun),
        )


async def _body(request: web.BaseRequest, admitted: Admitted, house: House) -> bytes:
    if not admitted.has_body:
        return b""
    config = house.config
    raw = await read_body(
        request,
        limit=config.listen.max_body,
        idle=config.timeouts.idle,
        length=admitted.length,
        awaits=admitted.awaits,
    )
    if admitted.codings is None:
        return raw
    # A small body may be large when it is decoded.
    apart = house.workshop.apart
    return await apart.always(bodies.decode, raw, admitted.codings, config.listen.max_body)


async def _refuse(
    request: web.BaseRequest, house: House, case: Case, no: Refused, grant: Headers
) -> web.StreamResponse:
    dialect = ALL[dress(request.raw_path, tuple(request.headers.items()))]
    answer = refusal(no, dialect, case.line.request)
    answer.headers.extend(grant)
    times = await house.owner.refused(case, no, answer.status)
    case.line.refused(no, answer.status, times)
    return answer
