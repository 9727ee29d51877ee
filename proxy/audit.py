"""Rows of the audit: what was blocked, refused, cut, diverted or only watched, and whose it was.

Owns what stands in a row and which event it is. It must not know who writes it. A row is made of
what a line of the log may have (`proxy.log_fields`), so it holds kinds, places, codes, counts and
names in a safe shape: no value, no length of one, no neighbour, no nonce, no credential.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from policies.decision import Finding
from policies.kinds import BLOCKED, KEPT, KINDS, PLAIN
from policies.notices import one_line
from proxy import logs
from proxy.errors import Refused
from proxy.journal import findings
from proxy.recorder import Row

_FACT: Final = re.compile(r"[a-z][a-z0-9_-]{0,30}")
_TRAIL: Final = 16


def refused(digest: bytes, fields: Mapping[str, object], no: Refused, status: int) -> Row:
    """The row of a request that got no answer of a model. The `leg` of `fields`, here and below, is
    the one that was asked."""
    word = "blocked" if no.code in BLOCKED else "refused"
    more = {"notice": no.code, "status": status, **findings(no.findings)}
    code = no.code if no.code in KEPT else ""
    # What was an event is counted as that.
    counts = () if no.code in KINDS else (no.code,)
    return _row(digest, word, {**fields, **more}, no.facts, code=code, counts=counts)


def diverted(digest: bytes, fields: Mapping[str, object], no: Refused) -> Row:
    """The row of a request that a model at home answers in place of the one that was asked."""
    more = {"notice": no.code, **findings(no.findings)}
    code = no.code if no.code in KEPT else ""
    fields, counts = {**fields, **more}, (no.code, "diverted")
    return _row(digest, "diverted", fields, no.facts, taken="local", code=code, counts=counts)


def happened(
    digest: bytes,
    kind: str,
    fields: Mapping[str, object],
    facts: Mapping[str, str],
    found: Sequence[Finding] = (),
    *,
    taken: str,
) -> Row:
    """The row of an event of a request, which goes on by the leg that is `taken`; empty where no
    model is asked."""
    about = KINDS.get(kind, PLAIN)
    told = {"notice": about.notice} if about.notice else {}
    more = findings(found) if found else {}
    return _row(digest, about.audited, {**fields, **told, **more}, facts, taken=taken)


def safe(facts: Mapping[str, str]) -> dict[str, str]:
    """Facts as they may be kept: on one line, not long, and nothing in which the screen finds
    something, as a name may be one that a stranger chose."""
    kept = {}
    for name, value in list(facts.items())[:_TRAIL]:
        line = one_line(value)
        if _FACT.fullmatch(name) and line:
            # SECURITY: a name of a tool or a part of an address may be the secret itself.
            kept[name] = line if logs.is_clean(line) else "-"
    return kept


def _row(
    digest: bytes,
    word: str,
    fields: Mapping[str, object],
    facts: Mapping[str, str],
    *,
    taken: str = "",
    code: str = "",
    counts: tuple[str, ...] = (),
) -> Row:
    kept = safe(facts)
    shown = logs.shown(fields)
    asked = shown.pop("leg", "")
    value = {
        "event": word,
        **shown,
        "leg_asked": asked,
        "leg_taken": taken,
        "trail": [f"{name}={each}" for name, each in kept.items()],
    }
    return Row(digest, json.dumps(value), code, kept, counts)
