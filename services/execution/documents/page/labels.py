"""What a page numbers and can refer to: figures, tables, equations, listings, theorems, sections."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

_ENGLISH = {
    "fig": "Figure", "tbl": "Table", "eq": "Equation", "lst": "Listing", "sec": "Section", "thm": "Theorem",
    "lem": "Lemma", "cor": "Corollary", "prp": "Proposition", "cnj": "Conjecture", "def": "Definition",
    "exm": "Example", "exr": "Exercise", "contents": "Contents", "references": "References", "code": "Code",
    "output": "Output", "note": "Note", "tip": "Tip", "important": "Important", "warning": "Warning",
    "caution": "Caution", "abstract": "Abstract",
}  # fmt: skip
#: As Quarto's translations have them.
_WORDS: Mapping[str, Mapping[str, str]] = {
    "de": {"fig": "Abbildung", "tbl": "Tabelle", "eq": "Gleichung", "lst": "Listing", "sec": "Kapitel",
           "thm": "Satz", "lem": "Lemma", "def": "Definition", "exm": "Beispiel", "exr": "Übungsaufgabe",
           "contents": "Inhaltsverzeichnis", "references": "Literatur", "output": "Ausgabe", "note": "Hinweis",
           "tip": "Tipp", "important": "Wichtig", "warning": "Warnung", "caution": "Vorsicht",
           "abstract": "Zusammenfassung"},
    "fr": {"fig": "Figure", "tbl": "Table", "eq": "Équation", "sec": "Section", "thm": "Théorème",
           "contents": "Table des matières", "references": "Les références", "output": "Sortie", "note": "Note",
           "tip": "Astuce", "important": "Important", "warning": "Avertissement", "caution": "Mise en garde",
           "abstract": "Résumé"},
    "es": {"fig": "Figura", "tbl": "Tabla", "eq": "Ecuación", "sec": "Sección", "thm": "Teorema",
           "contents": "Tabla de contenidos", "references": "Referencias", "code": "Código", "output": "Salida",
           "note": "Nota", "tip": "Tip", "important": "Importante", "warning": "Advertencia",
           "caution": "Precaución", "abstract": "Resumen"},
    "it": {"fig": "Figura", "tbl": "Tabella", "eq": "Equazione", "sec": "Sezione", "contents": "Indice",
           "references": "Riferimenti", "code": "Codice", "note": "Nota", "tip": "Suggerimento",
           "important": "Importante", "warning": "Avviso", "caution": "Attenzione"},
    "pt": {"fig": "Figura", "tbl": "Tabela", "eq": "Equação", "sec": "Seção", "contents": "Índice",
           "references": "Referências", "code": "Código", "note": "Nota", "tip": "Dica",
           "important": "Importante", "warning": "Aviso", "caution": "Cuidado"},
    "ja": {"fig": "図", "tbl": "表", "eq": "式", "lst": "リスト", "sec": "セクション", "thm": "定理",
           "contents": "目次", "references": "参考文献", "code": "コード", "output": "出力",
           "note": "注記", "tip": "ヒント",
           "important": "重要", "warning": "警告", "caution": "注意", "abstract": "概要"},
    "zh": {"fig": "图", "tbl": "表", "eq": "式", "lst": "列表", "sec": "小节", "thm": "定理", "contents": "目录",
           "references": "参考文献", "code": "代码", "output": "输出",
           "note": "注记", "tip": "提示",
           "important": "重要", "warning": "警告", "caution": "注意", "abstract": "摘要"},
    "ko": {"fig": "그림", "tbl": "표", "eq": "방정식", "sec": "섹션", "contents": "목차", "references": "참고문헌",
           "code": "코드", "note": "노트", "tip": "힌트", "important": "중요", "warning": "경고", "caution": "주의"},
}  # fmt: skip
NUMBERED = tuple(key for key in _ENGLISH if len(key) <= 3 and key not in ("sec", "tip"))
PREFIXES = "|".join((*NUMBERED, "sec"))
_PREFIX = re.compile(rf"({'|'.join(NUMBERED)})-")


def words_of(language: str) -> Mapping[str, str]:
    """Return the words of a page in a language such as ``de`` or ``pt-BR``; English for other languages."""
    return {**_ENGLISH, **_WORDS.get(language.lower().partition("-")[0], {})}


@dataclass
class Labels:
    words: Mapping[str, str] = field(default_factory=lambda: _ENGLISH)
    prefixes: Mapping[str, str] = field(default_factory=dict)  #: by kind, where references have another word
    known: dict[str, str] = field(default_factory=dict)  #: by id: word and number, as references have it
    _counts: Counter[str] = field(default_factory=Counter)
    _titles: dict[str, str] = field(default_factory=dict)  #: by id: word and number, as captions have it

    def number(self, id: str, kind: str = "") -> str:
        """Return word and number of what has this id, the same each time; ``kind`` where the id does not say it."""
        if id and id in self._titles:
            return self._titles[id]
        match = _PREFIX.match(id)
        kind = kind or (match[1] if match else "fig")
        self._counts[kind] += 1
        text = f"{self.words[kind]} {self._counts[kind]}"
        if id:
            self._titles[id] = text
            self.known[id] = f"{self.prefixes.get(kind, self.words[kind])} {self._counts[kind]}"
        return text

    def part(self, id: str, of: str, number: int) -> str:
        """Return the letter of a part of a figure or table, which has the id of its own; ``number`` is from 0."""
        letter = f"({chr(ord('a') + number % 26)})"
        self._titles[id], self.known[id] = letter, f"{self.known.get(of, '')} {letter}".strip()
        return letter

    def lead(self, id: str, kind: str = "", *, captioned: bool) -> str:
        """Return what a caption begins with: word and number, or the letter of a part."""
        text = self.number(id, kind)
        return f"{text}{' ' if text.startswith('(') else ': '}" if captioned else text


def kind_of(id: str) -> str | None:
    """Return what the prefix of an id says: ``fig`` of ``fig-rise``; ``None`` where it says nothing."""
    match = _PREFIX.match(id)
    return match[1] if match else None
