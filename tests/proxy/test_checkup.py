"""What a check sees beyond the text."""

from pathlib import Path

import pytest

from proxy.checkup import look
from proxy.config import Config
from proxy.problems import Invalid


def test_without_a_secrets_folder_there_is_nothing_to_look_at() -> None:
    """No folder was written, none is missing."""
    assert look(Config()) == []


def test_a_folder_that_is_missing_is_a_problem_of_its_setting(tmp_path: Path) -> None:
    """The setting is named, with the way out."""
    with pytest.raises(Invalid) as caught:
        look(Config(secrets_dir=str(tmp_path / "none")))
    assert [problem.path for problem in caught.value.problems] == ["screen.secrets_dir"]
    assert "hint: give Transom read access" in caught.value.report()
