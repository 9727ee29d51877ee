"""What a check sees beyond the text."""

from dataclasses import replace
from pathlib import Path

import pytest

from policies.decision import Leg
from proxy.checkup import look
from proxy.config import Config, Fallback, RouteSettings, UpstreamSettings
from proxy.problems import Invalid


def test_without_a_secrets_folder_there_is_nothing_to_look_at() -> None:
    """No folder was written, none is missing."""
    assert look(Config()) == []


def test_home_that_is_asked_first_and_is_not_there() -> None:
    """By a route or in general; where a model is named there is nothing to warn of."""
    first = Config(fallback=Fallback("home", "local"))
    routed = Config(routes=(RouteSettings("x", "", "", "claude", prefer="local"),))
    for config in (first, routed):
        (warning,) = look(config)
        assert "asked first" in warning
    home = UpstreamSettings("home", Leg.LOCAL, "http://127.0.0.1:1", ("ollama",), "none", None, "m")
    assert look(replace(first, upstreams=(home,))) == []


def test_a_folder_that_is_missing_is_a_problem_of_its_setting(tmp_path: Path) -> None:
    """The setting is named, with the way out."""
    with pytest.raises(Invalid) as caught:
        look(Config(secrets_dir=str(tmp_path / "none")))
    assert [problem.path for problem in caught.value.problems] == ["screen.secrets_dir"]
    assert "hint: give Transom read access" in caught.value.report()
