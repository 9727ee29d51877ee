"""Options of the test run, and the recorder of sockets under all of it."""

import pytest
from hypothesis import HealthCheck, settings

from tests.sockets import recording

# A gate says the same of the same commit, however busy the machine is; who is looking for more
# runs `pytest --hypothesis-profile=search`.
_ANY_PACE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
settings.register_profile("gate", _ANY_PACE, derandomize=True)
settings.register_profile("search", _ANY_PACE)
settings.load_profile("gate")


def pytest_configure(config: pytest.Config) -> None:
    # Where workers run the tests, each of them records; who only hands them out would take what a
    # worker does for what one of its own tests has started.
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(recording)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--accept",
        action="store_true",
        help="write what the golden tests get into their files instead of comparing",
    )
