"""A build that breaks one promise, to show that what watches over it can fail.

Owns the breaking. It must not know who watches.
"""

import secrets
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from policies.decision import Claimed
from proxy.ledger import Ledger

_CLAIM, _UNCLAIMED = Ledger.claim, Ledger.unclaimed


async def claim_anew(*given: Any, **more: Any) -> Claimed:
    """`Ledger.claim` with fresh nonces, whatever holds."""
    return _anew(await _CLAIM(*given, **more))


def unclaimed_anew(*given: Any) -> Claimed:
    """`Ledger.unclaimed` with fresh nonces, whatever is known."""
    return _anew(_UNCLAIMED(*given))


def forget_nonces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that draws a fresh nonce for every message of every request."""
    monkeypatch.setattr(Ledger, "claim", claim_anew)
    monkeypatch.setattr(Ledger, "unclaimed", staticmethod(unclaimed_anew))


def _anew(claimed: Claimed) -> Claimed:
    drawn = {row.nonce: secrets.token_hex(16) for row in claimed.rows.values()}
    rows = {unit: replace(row, nonce=drawn[row.nonce]) for unit, row in claimed.rows.items()}
    return structs.replace(claimed, rows=rows)
