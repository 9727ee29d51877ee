"""Every store there is, for suites that hold for all of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proxy.state import Store, open_store
from tests.contract.standing import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> AsyncIterator[Store]:
    urls = {"memory": "memory:", "sqlite": f"sqlite://{tmp_path}/state/transom.db"}
    opened = open_store(urls[request.param], clock=clock)
    yield opened
    await opened.close()
