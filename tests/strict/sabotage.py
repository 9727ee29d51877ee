"""Builds that break one promise, to show that what watches over it can fail.

Owns the breaking. It must not know who watches.
"""

import secrets
from dataclasses import replace
from typing import Any

import pytest

from policies.decision import Claimed
from proxy.ledger import Ledger


def forget_nonces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that draws a fresh nonce for every message of every request."""
    claim, unclaimed = Ledger.claim, Ledger.unclaimed

    async def claimed_anew(*given: Any) -> Claimed:
        return _anew(await claim(*given))

    def unclaimed_anew(*given: Any) -> Claimed:
        return _anew(unclaimed(*given))

    monkeypatch.setattr(Ledger, "claim", claimed_anew)
    monkeypatch.setattr(Ledger, "unclaimed", staticmethod(unclaimed_anew))


def _anew(claimed: Claimed) -> Claimed:
    drawn = {row.nonce: secrets.token_hex(16) for row in claimed.rows.values()}
    rows = {unit: replace(row, nonce=drawn[row.nonce]) for unit, row in claimed.rows.items()}
    return replace(claimed, rows=rows)
