"""Refusals as answers."""

import pytest

from policies.decision import Finding
from policies.notices import NOTICES, TOLD
from proxy.dialects import ALL
from proxy.errors import Refused
from proxy.refusals import in_stream, refusal, said

REFUSING = [code for code, notice in NOTICES.items() if notice.status != TOLD]


@pytest.mark.parametrize("dialect", ALL)
@pytest.mark.parametrize("code", REFUSING)
def test_status_code_and_words_are_there_in_every_dialect(code: str, dialect: str) -> None:
    """The status of the catalogue, the code in brackets in the body, our own headers, no leg."""
    answer = refusal(Refused(code), ALL[dialect], "req-1")
    assert answer.status == NOTICES[code].status
    assert answer.headers["x-transom-notice"] == code
    assert answer.headers["x-transom-request"] == "req-1"
    assert "x-transom-leg" not in answer.headers
    assert ("retry-after" in answer.headers) is (code == "rate-hard")
    assert (answer.headers.get("x-should-retry") == "false") is (code != "rate-hard")
    assert isinstance(answer.body, bytes)
    assert f"[{code}]".encode() in answer.body
    assert f"[{code}]".encode() in in_stream(Refused(code), ALL[dialect])


def test_an_upgrade_is_refused_for_good() -> None:
    """426 names what is spoken and closes the connection (RFC 9110, 15.5.22)."""
    answer = refusal(Refused("upgrade-refused"), ALL["openai_responses"], "req-1")
    assert answer.headers["upgrade"] == "HTTP/1.1"
    assert answer.keep_alive is False


def test_the_words_name_kind_and_place() -> None:
    """Findings fill the words: the first kind and place."""
    findings = (Finding("nsec", "messages[0].content"),)
    assert "nsec at messages[0].content" in said(Refused("egress-blocked", findings=findings))
