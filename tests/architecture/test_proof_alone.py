"""The proof stands alone: what it vouches for is read by no code that made or screened it."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROOF = [
    ROOT / "policies" / "prove.py",
    ROOT / "policies" / "turn_minimal.py",
    *sorted(ROOT.glob("policies/proof_*.py")),
]
SHARED = {"policies.conversation", "policies.cut", "policies.decision"}
"""Words for what is decided and what is seen: types alone."""


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            if node.module == "policies":
                yield from (f"policies.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


def test_the_proof_imports_nothing_that_it_checks() -> None:
    """Its own modules and the shared words; no dialect, no frame, no screen, no reader of JSON."""
    own = {f"policies.{path.stem}" for path in PROOF}
    assert len(own) > 5
    for path in PROOF:
        ours = {name for name in imported(path) if name.partition(".")[0] in ("policies", "proxy")}
        assert ours <= own | SHARED, path.name


def test_the_shared_words_import_nothing_that_decides() -> None:
    """Types lead nowhere else."""
    for name in SHARED:
        path = ROOT / f"{name.replace('.', '/')}.py"
        behind = {each for each in imported(path) if each.startswith(("policies", "proxy"))}
        assert not behind & {
            "policies.egress",
            "policies.screening",
            "policies.envelope",
            "policies.decide",
        }, name
