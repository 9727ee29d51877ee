"""The table of profiles."""

from proxy.config import keys
from proxy.config.profiles import DEFAULT, PROFILES, mode_of


def test_each_profile_sets_settings_that_there_are() -> None:
    """Every value is one that the setting takes, in this version, too."""
    by_path = {key.path: key for key in keys.SINGLE}
    for table in PROFILES.values():
        for path, value in table.items():
            assert by_path[path].kind.read(value) == value
            assert by_path[path].now is None or value in by_path[path].now


def test_modes() -> None:
    """From everything to the turn alone; what holds without a file is the default profile's."""
    assert [mode_of(name) for name in PROFILES] == ["strict", "dialogue", "off"]
    assert keys.MODE.default == mode_of(DEFAULT)
