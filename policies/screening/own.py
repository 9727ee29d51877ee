"""The credentials of a request: exempt where they stand as such, denied everywhere else in it.

Owns what of a credential is looked for. It must not know headers, nor which leg they are for.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from policies.conversation import Strand
from policies.decision import Finding
from policies.screening.checks import placeholder
from policies.screening.codecs import base64_any
from policies.screening.corpus import Corpus
from policies.screening.deny import forms, worthy
from policies.screening.places import place, place_of_key

KIND, FAMILY = "own_credential", "deny"
_APART = "\n\0\n"


@dataclass(frozen=True, slots=True)
class Own:
    """Credentials, compiled. Immutable; may be used from several threads at once. `digest` tells
    apart what was searched for which credentials; it stays in memory."""

    digest: bytes = field(repr=False)
    corpus: Corpus = field(repr=False)

    @classmethod
    def of(cls, values: Iterable[str]) -> "Own | None":
        """What the `values` of credential headers hold, schemes aside; None where nothing in them
        can be told apart from ordinary text, as in stand-ins for a key."""
        texts = sorted({text for value in values for text in _texts(value)})
        if not texts:
            return None
        wanted = {form for text in texts for form in forms(text.encode())}
        digest = hashlib.sha256("\0".join(["own", *texts]).encode()).digest()[:16]
        corpus = Corpus.of(wanted)
        return cls(digest, corpus) if corpus else None

    def may_stand_in(self, texts: Iterable[str]) -> bool:
        """Whether `findings` may find something in pieces that have these `texts`."""
        return self._in(_APART.join(texts))

    def findings(self, strands: Sequence[Strand]) -> tuple[Finding, ...]:
        """Where one of them stands in the strings and keys of a piece."""
        if not self._in(_APART.join([strand.text for strand in strands])):
            return ()
        return tuple(
            Finding(KIND, _place(strand), FAMILY) for strand in strands if self._in(strand.text)
        )

    def _in(self, text: str) -> bool:
        return self.corpus.in_(text.encode(errors="replace"))


def _place(strand: Strand) -> str:
    return place_of_key(strand.address) if strand.is_key else place(strand.address)


def _texts(value: str) -> Iterable[str]:
    scheme, _, rest = value.strip().partition(" ")
    words = value.split()
    if scheme.lower() == "basic":
        login = base64_any(rest.encode(errors="replace")).decode(errors="replace")
        words.append(login.partition(":")[2])
    for word in words:
        if worthy(word) and not placeholder(word.encode(errors="replace")):
            yield word
