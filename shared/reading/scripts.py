"""Encodings of older programs for scripts beyond Latin: which one a text is in, by how usual its letters are."""

from __future__ import annotations

import re
from typing import NamedTuple

_SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家"
    "种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日者意无力它与长把机十民"
    "第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体政美相见被利什二等产或新己制身果加西月话合"
    "回特代内信表化老给世位次度门任常先海通教原东提立及比员解水名真论处走义各入几口认条平系气题活更别打女变四总何电数"
    "安少报才结反受目太量再感建务做接必场件计管期市直资命山金指统区保至形社便空决治展科司五基书非则白界达光放强即难且"
    "权思王完设式色路记南品住告类求据程北边称编号额单价客户商店订购址邮箱备注城京广州深圳杭男姓龄省县街售销库存税率收支"
    "余账银款付费元型状态仓储六七八九百千万零男李张刘陈杨赵黄周吴徐孙"
)
_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家"
    "種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日者意無力它與長把機十民"
    "第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應向頭文體政美相見被利什二等產或新己制身果加西月話合"
    "回特代內信表化老給世位次度門任常先海通教原東提立及比員解水名真論處走義各入幾口認條平系氣題活更別打女變四總何電數"
    "安少報才結反受目太量再感建務做接必場件計管期市直資命山金指統區保至形社便空決治展科司五基書非則白界達光放強即難且"
    "權思王完設式色路記南品住告類求據程北邊稱編號額單價客戶商店訂購址郵箱備註城臺台雄男姓齡省縣街售銷庫存稅率收支餘帳"
    "銀款付費元型狀態倉儲六七八九百千萬零李張劉陳楊趙黃周吳徐孫林"
)
_KANJI = (
    "日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者地合市業内相方四定今回新場金員九入選"
    "立開手米力学問高代明実円関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制治度務強気"
    "小七成期公野協取都和統以機平総加山思家話世受区領多県続進正安設保改数記院女初北午指権心界支第産結百点教報済書府活"
    "原先共得解名交資予川向際面委告文反元重近千考認画海参売利組知案道信集在件団別物側任引使求所次水半品論計増係特情投"
    "示変打男基私各始島直両価式確村提運終果西減台広容必応電歳住能無再位置企真流格有口過局少放税検藤町常校料状工建語営"
    "空職証土止送供可役木割身費付施切由説転食比補車優研収何南石足消番規術展備宅配算条究育席起万着店残線率病農州質試族"
    "銀域例然早限親額商葉形景担準技低毎医負移差個門評課末守種美岡福量望松非整段型白字答製票況音申様財港識注達郵便号備"
    "考単顧客仕株込抜阪神奈鈴佐伊井村斉木清林崎"
)
_KANA = "".join(map(chr, (*range(0x3041, 0x3097), *range(0x30A1, 0x30FB), 0x30FC)))
_HANGUL = (
    "이다는에의가을를고하은로기한지사도그리자대어나인시서들아스일정해수으부있과제보주장전관동것상구원적여유경비조공국안"
    "용무성개계라만신세소문면생선화위게연중물교방회미학발모실통터또행단우결때내진민강며노금재요차치산업마영명번호입력량"
    "매출액합남울특별광역등록품격날짜객름천김박최윤임오권황송류홍울경북충청제주코드비율판"
)
_MIN_LETTERS = 8
#: Of the letters of a text that are usual ones; a few letters are half of a text with two dozens of them.
_MIN_SHARE, _MIN_SHARE_NARROW = 0.3, 0.45
#: As a part of the best share: what another encoding may have, and one of a byte a letter, if the best has two.
_MAX_OTHER, _MAX_OTHER_NARROW = 0.6, 0.8
_MIN_SHARE_OF_FEW = 0.6
_MAX_MIXED = 0.05  #: of the letters of a text that are in words with Latin ones
_SAMPLE = 1 << 16  #: bytes
_LINE = re.compile(rb"[^\n]*[\x80-\xff][^\n]*")
_WORD = re.compile(r"[^\W\d_]*[^\W\d_\x00-\x7f][^\W\d_]*")
#: Letters of words, in the wrong encoding: next to Latin ones, or a capital behind a small one.
_NO_WORD = re.compile(r"[A-Za-z]|[а-яёα-ώ][А-ЯЁΑ-Ω]")


class _Encoding(NamedTuple):
    name: str
    usual: frozenset[str]
    known_as: str = ""
    is_wide: bool = True  #: two bytes or more for a letter


_ENCODINGS = (
    _Encoding("cp932", frozenset(_KANJI + _KANA), "Shift-JIS"),
    _Encoding("euc_jp", frozenset(_KANJI + _KANA)),
    _Encoding("gb18030", frozenset(_SIMPLIFIED), "GBK"),
    _Encoding("cp950", frozenset(_TRADITIONAL), "Big5"),
    _Encoding("cp949", frozenset(_HANGUL), "EUC-KR"),
    *(_Encoding(name, frozenset("оеаинтсрОЕАИНТСР"), is_wide=False) for name in ("windows-1251", "koi8-r", "cp866")),
    _Encoding("windows-1253", frozenset("αοιετσνηρίόάέΑΟΙΕΤΣΝΗΡ"), "Greek", is_wide=False),
    # Their letters are too much like those of the others to be certain.
    *(
        _Encoding(name, frozenset(), script, is_wide=False)
        for name, script in (("windows-1255", "Hebrew"), ("windows-1256", "Arabic"), ("cp874", "Thai"))
    ),
)


def sample_of(content: bytes) -> bytes:
    """Return the first lines with bytes beyond ASCII, about 64 kB."""
    sample = bytearray()
    for line in _LINE.finditer(content):
        sample += line[0] + b"\n"
        if len(sample) >= _SAMPLE:
            break
    return bytes(sample)


def encoding_of_script(sample: bytes) -> str | None:
    """Return the encoding in which these lines have far more usual letters than in any other; None: not certain."""
    shares = {each: _share(sample, each) for each in _ENCODINGS}
    best, other, *_ = sorted(_ENCODINGS, key=lambda each: shares[each], reverse=True)
    least = _MIN_SHARE if best.is_wide else _MIN_SHARE_NARROW
    most = _MAX_OTHER_NARROW if best.is_wide and not other.is_wide else _MAX_OTHER
    return best.name if shares[best] >= least and shares[other] <= shares[best] * most else None


def may_be_wide(sample: bytes) -> bool:
    """Return whether most of the few letters of these lines are usual ones in an encoding of two bytes a letter."""
    return any(_share(sample, each, 2) >= _MIN_SHARE_OF_FEW for each in _ENCODINGS if each.is_wide)


def possible_encodings(sample: bytes) -> str:
    """Return the encodings that define all bytes of these lines, for a person to choose from."""
    fitting = [each for each in _ENCODINGS if _decoded(sample, each.name) is not None]
    return ", ".join(each.name + f" ({each.known_as})" * bool(each.known_as) for each in fitting)


def _share(sample: bytes, encoding: _Encoding, least: int = _MIN_LETTERS) -> float:
    """Return the share of letters beyond ASCII that are usual; those of lines that cannot be read are not.

    0 for fewer letters than ``least``.
    """
    usual = letters = mixed = 0
    for line in sample.splitlines():
        text = _decoded(line, encoding.name)
        if text is None:
            letters += sum(byte > 0x7F for byte in line)
            continue
        for word in _WORD.findall(text):
            beyond = [letter for letter in word if not letter.isascii()]
            letters += len(beyond)
            if encoding.is_wide or not _NO_WORD.search(word):
                usual += sum(letter in encoding.usual for letter in beyond)
            else:
                mixed += len(beyond)
    is_western = mixed > letters * _MAX_MIXED and not encoding.is_wide
    return usual / letters if letters >= least and not is_western else 0.0


def _decoded(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None
