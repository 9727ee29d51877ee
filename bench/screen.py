"""`python -m bench.screen`: how fast the screen reads, in MB per second of CPU time, by kind of
text.

Each text is read as one string and in units of 8 kB, as results of tools are; nothing is
remembered. A flood is read at two lengths: what matters is the rate and that the second takes no
more than its length. BLAKE2b over the same bytes, in the same round, says what the core does.
"""

import argparse
import hashlib
import statistics
import time
from collections.abc import Callable, Sequence

from bench import figures, texts
from policies.conversation import Strand
from policies.screening import Screen

SIZE, UNIT, FLOOD, ROUNDS = 400_000, 8_000, 200_000, 5
BARS = {"kind": 35.0, "mixed": 60.0, "flood": 4.0, "growth": 2.3}


def _strands(parts: Sequence[str]) -> list[tuple[Strand, ...]]:
    return [
        (Strand(("messages", n, "content", 0, "content"), part),) for n, part in enumerate(parts)
    ]


def _rate(screen: Screen, parts: Sequence[str], rounds: int = ROUNDS) -> tuple[float, float]:
    """MB/s of CPU time, and the same as a share of hashing."""
    pieces = _strands(parts)
    data = "".join(parts).encode()

    def read() -> None:
        for piece in pieces:
            screen.findings(piece)

    read()
    spent, hashed = [], []
    for _ in range(rounds):
        spent.append(_time(read))
        hashed.append(_time(lambda: hashlib.blake2b(data).digest()))
    share = statistics.median(h / s for h, s in zip(hashed, spent, strict=True))
    return len(data) / min(spent) / 1e6, share


def _time(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return max(time.process_time() - begun, 1e-9)


def _units(text: str) -> list[str]:
    return [text[at : at + UNIT] for at in range(0, len(text), UNIT)]


def kinds(screen: Screen) -> list[tuple[str, float, float, float]]:
    """Kind, MB/s whole, MB/s in units, the latter as a share of hashing."""
    rows = []
    mixed: list[str] = []
    for kind in texts.KINDS:
        text = texts.sample(kind, SIZE)
        parts = _units(text)
        mixed += parts[:: len(texts.KINDS)]
        rows.append((kind, _rate(screen, [text])[0], *_rate(screen, parts)))
    rows.append(("mixed", _rate(screen, ["\n".join(mixed)])[0], *_rate(screen, mixed)))
    return rows


def floods(screen: Screen) -> list[tuple[str, float, float, str]]:
    """Flood, MB/s at twice `FLOOD` characters, time of that over the time of half, verdict."""
    rows = []
    for name in texts.FLOODS:
        short, long = (texts.flood(name, size) for size in (FLOOD, 2 * FLOOD))
        rate, _ = _rate(screen, [long], rounds=3)
        single, _ = _rate(screen, [short], rounds=3)
        growth = len(long.encode()) / rate / (len(short.encode()) / single)
        found = screen.findings(_strands([long])[0])
        rows.append((name, rate, growth, ", ".join(sorted({f.kind for f in found}))))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["kinds", "floods", "all"], default="all")
    what = parser.parse_args().what
    screen = Screen.build({f"file-{n}": hashlib.sha256(b"%d" % n).digest() for n in range(200)})
    print(f"BLAKE2b: {figures.calibration():.0f} MB/s")
    if what != "floods":
        rows = [(n, f"{a:.0f}", f"{b:.0f}", f"{c:.3f}") for n, a, b, c in kinds(screen)]
        print(figures.table(("kind of text", "whole MB/s", "8 kB MB/s", "8 kB : hash"), rows))
    if what != "kinds":
        shown = [(n, f"{a:.1f}", f"{b:.2f}", c) for n, a, b, c in floods(screen)]
        print(figures.table(("flood", "MB/s", "time(2n)/time(n)", "kinds"), shown))


if __name__ == "__main__":
    main()
