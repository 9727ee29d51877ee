"""What all scenes of this folder share."""

from collections.abc import Mapping
from functools import cache, partial

import pytest

from policies.screening import Screen
from proxy import app
from proxy.secrets_dir import SecretsDir

_shipped = cache(Screen.build)


def _build(deny: Mapping[str, bytes]) -> Screen:
    return Screen.build(deny) if deny else _shipped()


@pytest.fixture(autouse=True)
def shipped_rules_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """These scenes start some hundred nodes that all screen by the shipped rules alone; a screen
    never changes, so one does for all."""
    monkeypatch.setattr(app, "SecretsDir", partial(SecretsDir, build=_build))
