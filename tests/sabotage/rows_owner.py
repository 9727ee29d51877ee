"""Lines of defence of the owner's book: how each is broken, and the scene that must then fail."""

from tests.sabotage.breaking import Cut, Swap
from tests.sabotage.row import line, named

OWNER = "proxy/test_owner.py"
OLD = "proxy/state/test_book_rows.py::test_an_open_notice_is_never_too_old"
EVERY = {
    "events": ("digest", 9, "1"),
    "audit": ("id", 9, "1"),
    "notices": ("id", 9, "1"),
    "sessions": ("session", 9, "1"),
}

ROWS = (
    line(
        "proxy/owner.py",
        "what cannot be written down does not leave",
        f"{OWNER}::test_without_an_audit_nothing_goes_to_a_cloud",
        Cut("            if goes:", "            if False:"),
    ),
    line(
        "proxy/owner.py",
        "a rate that nobody knows is no rate",
        f"{OWNER}::test_rates_fail_by_the_leg",
        Cut(
            "            if case.leg == Leg.CLOUD:\n                raise",
            "            if False:\n                raise",
        ),
    ),
    line(
        "proxy/audit.py",
        "a name of a tool or a part of an address may be the secret",
        "proxy/test_audit.py::test_names_that_strangers_chose_are_kept_in_a_safe_shape",
        Cut('line if logs.is_clean(line) else "-"', "line"),
    ),
    line(
        "proxy/state/book_rows.py",
        "what nobody has acknowledged is not forgotten because it is old",
        OLD,
        Swap("_KEPT", EVERY),
        kind="sqlite",
    ),
    line(
        "proxy/state/memory_book.py",
        "a notice that nobody has acknowledged is as new as any",
        OLD,
        Cut("row.last if row.acked else before", "row.last"),
        kind="memory",
    ),
    named(
        "re-posts are told apart",
        "proxy/rates.py",
        "scenes/test_rates.py::test_reposts_are_not_counted",
        Cut("if times is not None and times[0] < REPOSTS:", "if False:"),
    ),
    named(
        "one event for one thing",
        "proxy/abouts.py",
        "scenes/test_owner_told.py::test_one_honest_refusal_that_is_posted_six_times_raises_neither",
        Cut(
            "        return event_id(self._key, kind, client, session, *parts)",
            "        import os\n        return os.urandom(32)",
        ),
        tainted=True,
    ),
    named(
        "refusals beside third-party text are another thing",
        "policies/signals.py",
        "scenes/test_owner_told.py::"
        "test_grant_refusals_with_untrusted_content_are_a_security_signal",
        Cut("tainted >= MANY_REFUSALS", "False"),
    ),
    named(
        "hard rate",
        "proxy/owner.py",
        "scenes/test_rates.py::test_a_hundred_at_once_get_exactly_the_hard_rate",
        Cut("        if pace.wait:", "        if False:"),
    ),
)
