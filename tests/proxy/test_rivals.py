"""Another distribution with packages of our names is found, whichever was installed first."""

from importlib.metadata import packages_distributions
from pathlib import Path

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
    monkeypatch.setattr(rivals, "owners", lambda: owners)
    assert rivals.rivals() == found


def installed(site: Path, name: str, files: dict[str, str], kind: str = "dist-info") -> None:
    folder = site / f"{name}-1.0.{kind}"
    folder.mkdir(parents=True)
    metadata = "METADATA" if kind == "dist-info" else "PKG-INFO"
    (folder / metadata).write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    for each, text in files.items():
        (folder / each).write_text(text)


@pytest.mark.parametrize(
    ("files", "kind", "tops"),
    [
        ({"top_level.txt": "other\nproxy\n"}, "dist-info", ["proxy"]),
        ({"top_level.txt": "other\n", "RECORD": "proxy/a.py,,\n"}, "dist-info", []),
        ({"RECORD": "a/__init__.py,,\nproxy/__init__.py,,\n"}, "dist-info", ["proxy"]),
        (
            {"RECORD": "proxy/a.py,,\nproxy/b.py,,\npolicies/c.py,,\n"},
            "dist-info",
            ["policies", "proxy"],
        ),
        ({"RECORD": "policies.py,sha256=,12\n"}, "dist-info", ["policies"]),
        ({"RECORD": '"proxy/a,b.py",,\n'}, "dist-info", ["proxy"]),
        ({"RECORD": "a/proxy/b.py,,\nproxy_tools/c.py,,\nproxy.dist-info/M,,\n"}, "dist-info", []),
        ({"installed-files.txt": "../proxy/a.py\nPKG-INFO\n"}, "egg-info", ["proxy"]),
        ({"SOURCES.txt": "setup.py\nproxy/a.py\n"}, "egg-info", ["proxy"]),
        ({}, "dist-info", []),
    ],
)
def test_owners_are_known_by_what_they_list(
    tmp_path: Path, files: dict[str, str], kind: str, tops: list[str]
) -> None:
    """Names that are declared count, else the files; a name that only looks like ours does not."""
    installed(tmp_path, "rival", files, kind)
    assert rivals.owners([str(tmp_path)]) == {name: ["rival"] for name in tops}


def test_it_finds_what_the_library_finds() -> None:
    """Over what is installed here, for names that are there: the library's answer is the same."""
    library = packages_distributions()
    expected = {name: library[name] for name in rivals.NAMES if name in library}
    assert {name: list(all_of) for name, all_of in rivals.owners().items()} == expected


def test_this_environment_has_none() -> None:
    """No rival may ever be among the dependencies, not even of the tests."""
    assert rivals.rivals() == []
