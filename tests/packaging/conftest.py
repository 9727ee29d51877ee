"""One wheel and one environment for all tests of the folder."""

from pathlib import Path

import pytest

from tests.packaging.installing import Installed, built, installed


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def own(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return installed(wheel, tmp_path_factory.mktemp("own") / "env")
