"""From samples to a table: quantiles, ratios round by round, the machine they were taken on."""

import hashlib
import platform
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("aiohttp", "msgspec", "hyperscan", "google-re2", "regex", "structlog")


def quantile(samples: Sequence[float], share: float) -> float:
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def ratio(of: Iterable[float], to: Iterable[float]) -> float:
    """Median of the ratios of figures that were taken in the same round."""
    return statistics.median(a / b for a, b in zip(of, to, strict=True))


def slope(samples: Sequence[float], at: Sequence[float] = ()) -> float:
    """Growth of the samples over where they were taken, by least squares; by default one step from
    each to the next."""
    at = at or range(len(samples))
    middle, mean = statistics.fmean(at), statistics.fmean(samples)
    over = sum((x - middle) * (y - mean) for x, y in zip(at, samples, strict=True))
    return over / sum((x - middle) ** 2 for x in at)


def calibration() -> float:
    """MB/s of BLAKE2b over 1 MB blocks for a fifth of a second: how fast is this core just now?"""
    block = bytes(1_000_000)
    begun = time.perf_counter()
    blocks = 0
    while time.perf_counter() - begun < 0.2:
        hashlib.blake2b(block).digest()
        blocks += 1
    return blocks / (time.perf_counter() - begun)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def judged(figure: float, *, at_most: float = 0.0, at_least: float = 0.0) -> str:
    """The bar and whether `figure` meets it."""
    met = figure <= at_most if at_most else figure >= at_least
    return f"{'≤' if at_most else '≥'} {at_most or at_least} {'met' if met else 'missed'}"


def say(words: str) -> None:
    """What goes on, for who waits."""
    print(f"… {words}", file=sys.stderr, flush=True)


def machine() -> str:
    """One paragraph: processor, kernel, Python, packages."""
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        info = ""
    models = [line.partition(":")[2].strip() for line in info.splitlines() if "model name" in line]
    name = models[0] if models else platform.processor() or platform.machine()
    packages = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"{len(models) or 1} × {name}, {platform.system()} {platform.release()}, "
        f"{platform.python_implementation()} {platform.python_version()}; {packages}."
    )
