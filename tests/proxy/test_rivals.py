"""Another distribution with packages of our names is found, whichever was installed first."""

import pytest

from proxy import rivals


@pytest.mark.parametrize(
    ("owners", "found"),
    [
        ({}, []),
        ({"proxy": ["transom"], "policies": ["transom"]}, []),
        ({"proxy": ["proxy.py", "transom"]}, ["proxy.py"]),
        ({"proxy": ["proxy.py"], "policies": ["policies", "policies"]}, ["policies", "proxy.py"]),
    ],
)
def test_rivals_are_everyone_but_us(
    monkeypatch: pytest.MonkeyPatch, owners: dict[str, list[str]], found: list[str]
) -> None:
    """Only owners of our two names count, each once."""
    monkeypatch.setattr(rivals, "packages_distributions", lambda: owners)
    assert rivals.rivals() == found


def test_this_environment_has_none() -> None:
    """No rival may ever be among the dependencies, not even of the tests."""
    assert rivals.rivals() == []
