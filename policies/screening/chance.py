"""Whether a run of characters was drawn by lot or written by somebody.

Owns the measure. It must not know where a run stood. Words and identifiers, in whatever style they
are put together, are made of few pairs of letters; characters drawn by lot have any of them next to
each other, and change between small letters, capitals and digits all the time.
"""

from itertools import pairwise

_PAIRS = (
    "aa ab ac ad ae af ag ah ai aj ak al am an ap aq ar as at au av aw ax ay az ba bb bc be "
    "bi bj bl bm bn bo bp bq br bs bt bu bx by ca cb cc cd ce cf cg ch ci ck cl cm cn co cp "
    "cq cr cs ct cu cv cx cy da db dc dd de df dg dh di dl dm dn do dp dr ds dt du dy ea eb "
    "ec ed ee ef eg eh ei ej ek el em en eo ep eq er es et eu ev ew ex ey fa fb fc fd fe ff "
    "fi fl fn fo fp fr fs ft fu fy ga gb gc ge gg gh gi gl gm gn go gp gr gs gt gu gy ha he "
    "hi hl hm ho hp hr hs ht hu hy ia ib ic id ie if ig ii ik il im in io ip iq ir is it iu "
    "iv ix iz ja je jo js ju ka kd ke ki kn ko kp ks ku kw la lb lc ld le lf lg li lk ll ln "
    "lo lp lr ls lt lu lv ly ma mb mc md me mi ml mm mn mo mp ms mt mu my na nc nd ne nf ng "
    "nh ni nj nk nl nm nn no np nr ns nt nu nv ny oa ob oc od oe of og oh oi oj ok ol om on "
    "oo op or os ot ou ov ow ox pa pb pc pd pe pg ph pi pk pl pm pn po pp pr ps pt pu py qa "
    "ql qq qu ra rb rc rd re rf rg rh ri rk rl rm rn ro rp rr rs rt ru rv rw ry sa sb sc sd "
    "se sf sg sh si sk sl sm sn so sp sq sr ss st su sv sw sy ta tb tc td te tf tg th ti tl "
    "tm tn to tp tr ts tt tu tw tx ty ua ub uc ud ue uf ug ui ul um un uo up ur us ut ux va "
    "vc ve vi vo vs vt vu wa we wg wh wi wn wo wr ws xa xc xe xi xp xs xt xx ya yb yc ye yg "
    "yl ym yn yo yp ys yt yw za ze zi "
)
"""Pairs of letters that make up 98 of 100 in the identifiers and words of programs and their
documentation."""
COMMON = frozenset(pair.encode() for pair in _PAIRS.split())
_BETWEEN_WORDS = b"_-."


def _kind(char: str) -> str:
    return "d" if char.isdigit() else "l" if char.islower() else "u" if char.isupper() else "o"


_KINDS = "".join(map(_kind, map(chr, range(256)))).encode()


def _is_odd(one: int, two: int) -> bool:
    # A capital before small letters begins a word, which is no change.
    if _KINDS[one] != _KINDS[two] and (_KINDS[one], _KINDS[two]) != tuple(b"ul"):
        return True
    return _KINDS[one] in b"lu" and bytes((one, two)).lower() not in COMMON


_SEEN = [code for code in range(33, 127) if code not in _BETWEEN_WORDS]
_ODD = frozenset((one, two) for one in _SEEN for two in _SEEN if _is_odd(one, two))


_ROWS = b"abcdefghijklmnopqrstuvwxyz qwertyuiop asdfghjkl zxcvbnm qwertzu yxcvb azerty".split()
_BESIDE = frozenset(
    pair for row in _ROWS for one, two in pairwise(row) for pair in ((one, two), (two, one))
)


def in_order(value: bytes) -> float:
    """The share of letters that stand beside the one before in the alphabet or on a keyboard:
    nobody's secret, though no word has them so."""
    letters = value.lower()
    return sum(map(_BESIDE.__contains__, pairwise(letters))) / max(1, len(letters) - 1)


def kinds(value: bytes) -> bytes:
    """Of each character but those between words: `d`igit, `l`ower or `u`pper case letter,
    `o`ther."""
    return value.translate(_KINDS, _BETWEEN_WORDS)


def chance(value: bytes) -> float:
    """The share of characters after which comes one that no word goes on with: of another kind, or
    a letter that seldom follows. Above 0.35 for nearly all that is drawn by lot from letters and
    digits, below 0.3 for nearly all that is written."""
    chars = value.translate(None, _BETWEEN_WORDS)
    return sum(map(_ODD.__contains__, pairwise(chars))) / max(1, len(chars))
