"""A new owner gets a file of their own, and keeps the one that they have."""

from pathlib import Path

import pytest

from proxy.first_steps import Occupied, example, prepare


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    """A link that someone else put there does not decide where the file lands."""
    target = tmp_path / "target"
    link = tmp_path / "c.toml"
    link.symlink_to(target)
    environ = {"HOME": str(tmp_path)}
    with pytest.raises(Occupied, match=r"c\.toml is there already"):
        prepare(link, environ, force=False)
    assert not target.exists()
    assert prepare(link, environ, force=True) == link
    assert not link.is_symlink()
    assert link.read_text() == example()
    assert not target.exists()
