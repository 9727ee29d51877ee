"""A refusal as an answer: the notice's status and words, dressed in the caller's dialect.

Owns the join of catalogue and dialect. It must not know why anything was refused.
"""

from aiohttp import web

from policies.notices import NOTICES, headers, summary, words
from proxy.dialects import Dialect
from proxy.errors import Refused


def refusal(no: Refused, dialect: Dialect, request_id: str) -> web.Response:
    """The whole answer, with the code as `x-transom-notice`; never a leg, as nothing was asked."""
    notice = NOTICES[no.code]
    held = no.facts.get("held", "")
    extra, body = dialect.error(notice.status, no.code, said(no), request_id, held)
    response = web.Response(
        status=notice.status,
        body=body,
        headers={
            **extra,
            **headers(no.code, retry_after=int(no.facts.get("retry_after", "60"))),
            "x-transom-request": request_id,
            "x-transom-notice": no.code,
        },
    )
    if notice.status == 426:
        response.headers["upgrade"] = "HTTP/1.1"
        response.force_close()
    return response


def in_stream(no: Refused, dialect: Dialect) -> bytes:
    """The same inside a stream that has begun."""
    return dialect.stream_error(NOTICES[no.code].status, no.code, said(no))


def said(no: Refused) -> str:
    """The notice's words for this refusal."""
    return words(no.code, {**summary(no.findings), **no.facts})
