"""A value that goes on behind the end of a line, or of a string that code puts together.

Owns what is taken for such a break. It must not know what is looked for.
"""

import re
from collections.abc import Iterator

from policies.screening.work import Work

BETWEEN_PARTS = "\x01"
"""Stands between strings that are looked at as one, where a value may begin or go on."""
_NUMBER = (
    rb"(?:(?:(?=[^\s:]{0,100}[./])[^\s:]{1,200}[:-])?"
    rb"\d{1,7}(?:\t|\xe2\x86\x92|[ ]?\xe2\x94\x82|[ ]?\||[:)-])[ \t]{0,80})?"
)
_END = rb"[=\\]?\r?\n[ \t>+]{0,80}" + _NUMBER
_LINE = rb"[ \t]{0,80}" + _END
_SIGN = rb"(?:\+\+?|\.\.?|&(?:[ ]_)?|~|<>|\|\|)[ \t]{0,80}"
_MARK = rb"(?:[rbfuRBFUL]{1,2}|u8|@)?"
_QUOTE = rb"[\"'`]"
JOINED = (
    _QUOTE + rb"[ \t]{0,80}(?:" + _SIGN + rb"(?:" + _END + rb")?|" + _END + rb")"
    rb"(?:" + _SIGN + rb")?" + _MARK + _QUOTE +
    # Flags and settings on a command line are several.
    rb"|[\"'][ \t]{0,80}" + _MARK + rb"[\"'](?!-|[A-Za-z_]\w{0,40}=[^\"'=])"
)  # fmt: skip
"""Between two strings that code puts together, in one line or over two: a sign or none, the number
of the line, a mark of the second string, the quotation marks."""
STEMS = (
    *(b"AKIA", b"ASIA", b"AIza", b"AGE-SECRET-KEY-", b"AQ.Ab8RN6", b"ATATT3x", b"CCIPAT_"),
    *(b"GOCSPX-", b"HRKU-AA", b"NRAK-", b"SWMTKN-1-", b"bkua_", b"cashu[AB]", b"cf[ua]t_", b"csk-"),
    *(b"dapi", b"dckr_[po]at_", b"do[por]_v1_", b"dp\\.[a-z]{2,5}\\.", b"eyJ(?:hbGci|0eXAi)"),
    *(b"figd_", b"fedimint", b"gh[pousr]_", b"github_pat_", b"gl[a-z]{2,5}-", b"glsa_", b"gsk_"),
    *(b"hf_", b"hv[sbr]\\.", b"lin_api_", b"llx-", b"lsv2_[ps][tk]_", b"napi_", b"npm_", b"nsec1"),
    *(b"ntn_", b"nvapi-", b"ops_eyJ", b"phx_", b"pplx-", b"pul-", b"pypi-", b"[xyzt]prv", b"r8_"),
    *(b"rubygems_", b"sbp_", b"sgp_", b"shp(?:at|ca|pa|ss)_", b"sk-(?:proj|svcacct|admin|or-v1)-"),
    *(
        b"sk-ant-",
        b"sk_live_",
        b"sntry[su]_",
        b"sq[upa]_",
        b"tgp_v1_",
        b"tvly-",
        b"whsec_",
        b"xai-",
    ),
    *(b"xkeysib-", b"ya29\\.", b"0201036[cC]6[eE]64", b"AgEDbG5k", b"__cookie__:", b"AccountKey="),
)
"""What kinds of some length begin with, as expressions."""
_BEGUN = b"(?:" + b"|".join(STEMS) + b")"
BROKEN = (_BEGUN + rb"[!-~]*\r?\n", _BEGUN + rb"[!-~]* *\xe2\x94\x82")
"""Such a one that may go on in the next line, or behind a frame: of some of them nothing is seen
until most of it is there."""
_STEM = re.compile(_BEGUN + rb"[A-Za-z0-9+/=_.:-]*(?=\s|\xe2\x94\x82)")
_FRAME = rb"(?:\xe2\x94\x82|\|)?"
_WRAP = re.compile(
    rb"[ \t]{0,80}" + _FRAME + rb"[ \t]{0,8}\r?\n[ \t>+]{0,80}" + _FRAME + rb"[ \t]{0,8}" + _NUMBER
)
_PIECE = re.compile(rb"[A-Za-z0-9+/=_.:-]+")
_NARROW = 36
"""Bytes of the shortest line that is one because there is no room for more."""
_LISTED = _QUOTE + rb"[ \t]{0,80},[ \t]{0,80}(?:" + _END + rb")?" + _MARK + _QUOTE
_BREAK = re.compile(rb"\x01|" + JOINED + rb"|" + _LISTED + rb"|" + _LINE)
_TOKEN = re.compile(rb"[!#-&(-_a-~]{4,}")
_LONGEST = 1024
"""Bytes of a value; longer ones come in lines of their own, which is another view."""
_MOST = 8
"""Breaks in a value."""
_SPARE = 256
"""Bytes that breaks may add to a value."""


def mended(
    data: bytes, anchor: int, back: int, reach: int, work: Work
) -> Iterator[tuple[bytes, int]]:
    """What stands round `anchor`, with the first break behind it mended, with the first two, and so
    on, for nothing says where a value ends; and where the anchor is in it. Nothing where nothing
    breaks off what begins there."""
    if reach > _LONGEST:
        return
    token = _TOKEN.match(data, anchor, anchor + reach)
    work.spend("mended", token.end() - anchor if token else 0)
    if token is None or not _BREAK.match(data, token.end()):
        return
    start = max(0, anchor - back - 2)
    end = min(len(data), anchor + reach + _SPARE)
    for count in range(1, _MOST + 1):
        work.spend("mended", end - start)
        whole, mends = _BREAK.subn(b"", data[anchor:end], count)
        if mends < count:
            return
        yield data[start:anchor] + whole, anchor - start


def unwrapped(data: bytes, work: Work) -> Iterator[bytes]:
    """Values that lines of one width break off: each with its first break mended, with the first
    two, and so on, on lines of their own."""
    for stem in _STEM.finditer(data):
        start = data.rfind(b"\n", 0, stem.start()) + 1
        if stem.end() - start < _NARROW:
            continue
        whole, at = b"", stem.start()
        for count in range(_MOST + 1):
            piece = _PIECE.match(data, at)
            if piece is None:
                break
            whole += piece[0]
            work.spend("mended", 2 * len(whole))
            if count:
                yield whole
            wrap = _WRAP.match(data, piece.end())
            if wrap is None:
                break
            at = wrap.end()
