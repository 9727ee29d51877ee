"""The catalogue is whole, its words survive any facts, its statuses are the promised ones."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.decision import Finding
from policies.notices import FACT_LENGTH, NOTICES, TOLD, headers, one_line, summary, words

CONTRACT = {
    400: """egress-blocked egress-ambiguous home-only home-not-local home-context-too-small
        not-minimal read-loop turn-limit tool-refused memory-refused endpoint-refused
        secrets-unreadable proof-failed body-invalid coding-unknown door-refused framing-failed""",
    401: "client-unknown",
    404: "unknown-endpoint no-route",
    413: "body-too-large",
    426: "upgrade-refused",
    429: "rate-hard",
    500: "internal-error",
    503: "home-unavailable upstream-unreachable state-unavailable",
    504: "upstream-timeout",
    TOLD: """rate-soft cloud-while-home-up secrets-file-skipped config-invalid marker-leak adopted
        unknown-part unframed-part hidden-characters forged-opening refusals-untrusted
        refusals-repeated turn-limit-repeated read-loop-soft turn-limit-soft""",
}
STATUS = {code: status for status, codes in CONTRACT.items() for code in codes.split()}


def test_the_catalogue_holds_the_codes_of_the_contract_with_its_statuses() -> None:
    """No code is missing, none has another status than the contract gives it."""
    assert {code: notice.status for code, notice in NOTICES.items()} == STATUS


@pytest.mark.parametrize("code", sorted(NOTICES))
def test_each_notice_has_words_a_way_out_and_a_severity(code: str) -> None:
    """A code without words, hint or severity would leave the owner alone with it."""
    notice = NOTICES[code]
    assert notice.code == code
    assert len(notice.says) > 20
    assert len(notice.hint) > 10
    assert notice.hint.endswith(".")
    assert notice.severity in {"info", "warning", "error"}


@pytest.mark.parametrize("code", sorted(NOTICES))
def test_words_without_facts_are_a_short_sentence(code: str) -> None:
    """Missing facts leave no hole: no brace, one line, code first, short enough for a terminal."""
    said = words(code, {})
    assert said.startswith(f"[{code}] ")
    assert "{" not in said
    assert "}" not in said
    assert "  " not in said
    assert len(said) <= 230
    assert said.isprintable()


@pytest.mark.parametrize("code", sorted(NOTICES))
def test_each_fact_of_a_notice_is_used_and_each_hole_is_a_fact(code: str) -> None:
    """A fact that no template mentions, or a hole that no fact fills, is a slip."""
    notice = NOTICES[code]
    holes = {name for _, name, _, _ in string.Formatter().parse(notice.says + notice.hint) if name}
    assert holes == set(notice.facts)


@pytest.mark.parametrize("code", sorted(NOTICES))
def test_each_fact_shows_when_it_is_given(code: str) -> None:
    """What a caller knows is what the owner reads."""
    facts = {name: f"<{name}>" for name in NOTICES[code].facts}
    assert all(fact in words(code, facts) for fact in facts.values())


@given(st.sampled_from(sorted(NOTICES)), st.dictionaries(st.text(), st.text()), st.text())
def test_no_fact_can_break_the_line(code: str, facts: dict[str, str], value: str) -> None:
    """Whatever a stranger wrote, the words stay one printable line."""
    facts |= dict.fromkeys(NOTICES[code].facts, value)
    assert words(code, facts).isprintable()


def test_an_unknown_code_is_a_mistake_of_ours() -> None:
    """A code that is not in the catalogue fails loudly instead of saying nothing."""
    with pytest.raises(KeyError):
        words("no-such-code", {})


def test_only_the_hard_rate_limit_invites_a_retry() -> None:
    """Every other refusal tells clients not to try again; the limit says when, within 120 s."""
    assert {code for code in NOTICES if headers(code) != {"x-should-retry": "false"}} == {
        "rate-hard"
    }
    assert headers("rate-hard", retry_after=7) == {"retry-after": "7"}
    assert headers("rate-hard", retry_after=0) == {"retry-after": "1"}
    assert headers("rate-hard", retry_after=9999) == {"retry-after": "120"}


def test_one_line_disarms_and_cuts() -> None:
    """Escapes, bidi overrides, line ends and length are gone; ordinary words of any script stay."""
    assert one_line("a\x1b[31mb\u202ec\r\nd") == "a [31mb c d"
    assert one_line("žluťoučký 鍵") == "žluťoučký 鍵"
    assert one_line("x" * 500) == "x" * (FACT_LENGTH - 1) + "…"


def test_a_summary_names_the_first_and_counts_the_rest() -> None:
    """Many findings stay one short line."""
    one = Finding("nsec", "messages[0].content")
    two = Finding("pem", "messages[1].content")
    assert summary(()) == {"kinds": "", "places": ""}
    assert summary((one, one)) == {"kinds": "nsec", "places": "messages[0].content"}
    assert summary((one, two, two))["kinds"] == "nsec and 1 more"
    assert "nsec at messages[0].content" in words("egress-blocked", summary((one,)))
