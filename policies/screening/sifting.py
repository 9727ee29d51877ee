"""Which strings of a request need a reading: all its pieces are laid side by side and sifted.

Owns the order in which they lie, so that parts of one secret are neighbours, and whose string a
hit is. It must not know what the sieve looks for.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from policies.conversation import Strand, Texts
from policies.screening.corpus import Corpus
from policies.screening.parts import SEAM, SHORTEST, Strings, ending, enough, outer, where_met
from policies.screening.sieve import Sieve

ACROSS = -1
"""Stands for what goes across several strands, among the numbers of strands."""
WIDEST = 128
"""Bytes, at most, of an anchor that counts across ends, with what the engine wants to see behind
it."""

Pieces = Mapping[int, Strings]
Seams = Sequence[tuple[int, int]]


@dataclass(slots=True)
class Suspects:
    """`alone`: number of a piece → numbers of its strands that need a reading, `ACROSS` for several
    at once, or None for all. `seams`: numbers of those that need one. `own`: one of the credentials
    may stand somewhere."""

    alone: dict[int, Set[int] | None] = field(default_factory=dict)
    seams: Set[int] = field(default_factory=set)
    own: bool = False


def look_over(
    sieve: Sieve, pieces: Pieces, read: Collection[int], seams: Seams, own: Corpus | None
) -> Suspects:
    """See `Screen.suspects`."""
    row = _Row({number: pieces[number].texts for number in sorted(pieces)})
    width = min(SEAM, max(WIDEST, sieve.reach))
    row.lay_contents(read, {right for _, right in seams}, width)
    row.lay_seams(seams, width)
    worded = len(row.texts)
    row.lay_rest(read)
    sifted = sieve.sift(row.texts, row.edges, own, worded)
    # A field beside one that is called so may say what it has to be.
    found = {n: _pictures(pieces[n].strands) for n in read if "data" in row.parts[n].keys}
    kept = sifted.kept
    if escaped := sifted.tested - kept:
        kept |= sieve.remaining({at: row.texts[at] for at in escaped})
    for number, texts in row.holders(kept).items():
        if number in read:
            strands = enumerate(pieces[number].strands)
            held = {at for at, strand in strands if strand.text in texts}
            found[number] = held.union(found.get(number, ()))
    met: set[int] = set()
    if sifted.edges or sifted.open:
        crossed = {number for at in sifted.edges for number in row.edge_owners[at]}
        open_ = row.holders(sifted.open).keys()
        for number in read:
            if number in crossed or (number in open_ and row.is_parted(number)):
                found.setdefault(number, set()).add(ACROSS)
        met = {
            at
            for at, (first, right) in enumerate(seams)
            if ~at in crossed or not open_.isdisjoint(range(first, right + 1))
        }
    return Suspects({number: those for number, those in found.items() if those}, met, sifted.own)


def _pictures(strands: Sequence[Strand]) -> set[int]:
    """Values of fields `data`."""
    return {
        at
        for at, strand in enumerate(strands)
        if not strand.is_key and strand.address and strand.address[-1] == "data"
    }


class _Row:
    """`texts`: the contents of all pieces in their order, so that neighbours are neighbours here;
    behind them keys, once for those that pieces have in common, and what is by itself.
    `edges`: where contents, keys and messages meet, with nothing between them: an anchor that
    needs something there stands in one text. `edge_owners`: numbers of pieces, and of seams as
    `~n`."""

    def __init__(self, parts: Mapping[int, Texts]) -> None:
        self.parts = parts
        self.texts: list[str] = []
        self.edges: list[str] = []
        self.edge_owners: list[Sequence[int]] = []
        self._begins: list[int] = []
        self._owners: list[Sequence[int]] = []

    def lay_contents(self, read: Collection[int], rights: Set[int], width: int) -> None:
        """Those of pieces that are not read are there for their ends."""
        for number, parts in self.parts.items():
            texts = parts.contents
            if number in read:
                self._add((number,), texts)
                if len(texts) > 1:
                    self._edge((number,), where_met(texts, width))
            else:
                self._add((number,), outer(texts, SEAM, start=number in rights))

    def lay_seams(self, seams: Seams, width: int) -> None:
        """Where messages meet."""
        for at, (first, right) in enumerate(seams):
            before = [text for left in range(first, right) for text in self.parts[left].contents]
            # SECURITY: what begins across ends before the last one may go on behind that one.
            last = ending(before, SEAM)
            self._edge((~at,), where_met([*last, *enough(self.parts[right].contents, SEAM)], width))

    def lay_rest(self, read: Iterable[int]) -> None:
        """Keys, and what has no parts, each once."""
        keyed: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        alone: defaultdict[str, list[int]] = defaultdict(list)
        for number in read:
            parts = self.parts[number]
            keyed[tuple(parts.keys)].append(number)
            for text in dict.fromkeys(parts.others):
                alone[text].append(number)
        for text, numbers in alone.items():
            if len(text) >= SHORTEST:
                self._add(numbers, (text,))
        for keys, numbers in keyed.items():
            self._add(numbers, keys)
            self._edge(numbers, "".join(keys))

    def is_parted(self, number: int) -> bool:
        """Whether a piece has parts that one secret may go across."""
        return len(self.parts[number].contents) > 1 or len(self.parts[number].keys) > 1

    def holders(self, numbers: Iterable[int]) -> dict[int, set[str]]:
        """Pieces → which of the texts with these `numbers` they hold."""
        found: defaultdict[int, set[str]] = defaultdict(set)
        for number in numbers:
            for owner in self._owners[bisect_right(self._begins, number) - 1]:
                found[owner].add(self.texts[number])
        return found

    def _add(self, owners: Sequence[int], texts: Sequence[str]) -> None:
        if texts:
            self._begins.append(len(self.texts))
            self._owners.append(owners)
            self.texts += texts

    def _edge(self, owners: Sequence[int], text: str) -> None:
        self.edges.append(text)
        self.edge_owners.append(owners)
