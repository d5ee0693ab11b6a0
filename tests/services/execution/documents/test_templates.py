"""What a message may hold: what is filled in, what is refused in plain words, and that every one of them ends."""

from __future__ import annotations

import pytest

from services.execution.documents.llm.messages import render
from services.execution.documents.resolve.renderer import NotRendered, Renderer, Seen

SEEN: dict[str, Seen] = {
    "x": {"kind": "json", "json": "a"},
    "n": {"kind": "json", "json": 3},
    "d": {"kind": "json", "json": {"k": [1, 2]}},
    "df": {
        "kind": "table",
        "rows": 1000,
        "width": 1,
        "columns": [{"name": "a", "type": "int64"}],
        "head": [[number] for number in range(100)],
        "text": "1000 rows",
    },
    "f": {"kind": "figure", "text": "<Figure>"},
}
_UNSAFE, _LONG, _MEMORY = "unsafe", "too long", "memory"


def rendered(renderer: Renderer, text: str) -> str:
    return render(renderer, text, lambda _names, _whole: SEEN).text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{{ d.items() | list }}{{ dict(a=1) }}", '[["k", [1, 2]]]{"a": 1}'),
        ("{% for i in range(3) %}{{ loop.index }}{% endfor %}{{ n }}", "1233"),
        ("{{ x | upper }} {{ d.k | sum }} {{ d.k | join(',') }}", "A 3 1,2"),
        ("{% raw %}{{ x }}{% endraw %}{{ x }} }}", "{{ x }}a }}"),
        ("{% set x = 5 %}{{ x }}{% filter upper %}{{ 'b' }}{% endfilter %}", "5B"),
        ("{{ (1, 2) | list }} {{ true }} {{ none }} {{ 1.0 }} {{ '<b>' | safe }}", "[1, 2] True None 1.0 <b>"),
        ("{{ d.k[::-1] }} {{ x[0:99] }} {{ 2 ** 100 }}", "[2, 1] a 1267650600228229401496703205376"),
        ("{{ nothing | default('d') }} {{ nothing is defined }}", "d False"),
        ("{{ df | list | length }} {{ df | length }} {{ f }}", "100 1000 [figure f]"),
        ('{{ "\\ud800\\u0000" }}', "?\u2400"),
    ],
)
def test_a_message_says_what_its_template_says(renderer: Renderer, text: str, wanted: str) -> None:
    assert rendered(renderer, text) == wanted


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ x.__class__ }}", _UNSAFE),
        ("{{ x['__class__'] }}", _UNSAFE),
        ("{{ x | attr('__class__') }}", "attr"),
        ("{{ self.__init__.__globals__ }}", _UNSAFE),
        ("{{ self._TemplateReference__context }}", _UNSAFE),
        ("{{ range.__globals__ }}", _UNSAFE),
        ("{{ namespace.__init__.__globals__ }}", _UNSAFE),
        ("{{ dict.__base__ }}", _UNSAFE),
        ("{{ d.items.__self__ }}", _UNSAFE),
        ("{{ '{0.__class__}'.format(x) }}", _UNSAFE),
        ("{{ [x] | map(attribute='__class__') | list }}", "undefined"),
        ("{{ [x] | groupby('__class__') }}", "undefined"),
        ("{{ [x] | selectattr('__class__') | list }}", _UNSAFE),
        ("{% for i in d.k %}{{ loop.__class__ }}{% endfor %}", _UNSAFE),
        ("{% macro m() %}{% endmacro %}{{ m.__globals__ }}", "no attribute"),
        ("{{ d.pop('k') }}", "no attribute"),
        ("{{ d.k.append(1) }}", _UNSAFE),
        ("{{ df.head }}{{ df._x }}", "no attribute"),
        ("{{ f.wanted }}{{ f.__class__ }}", "no attribute"),
        ("{{ range }}", "cannot be part of a message"),
        ("{{ d.items }}", "cannot be part of a message"),
        ("{% include '/etc/passwd' %}{{ x }}", "nothing to read"),
        ("{% import 'os' as os %}{{ os }}", "nothing to read"),
        ("{% do x %}{{ x }}", "unknown tag"),
        ("{{ lipsum(n=10) }}", "undefined"),
        ("{{ 'a' * 10**9 }}", _LONG),
        ("{{ 10**9 * [0] }}", _LONG),
        ("{{ (9**9)**(9**6) }}", "power"),
        ("{{ ((2**100)**100)**100 }}", "power"),
        ("{{ 'a'.ljust(10**9) }}", _UNSAFE),
        ("{{ 'a\\t'.expandtabs(10**9) }}", _UNSAFE),
        ("{{ '%1000000000d' % 1 }}", "%"),
        ("{{ '{:>1000000000}'.format(1) }}", _MEMORY),
        ("{{ 'a' | center(10**9) }}", "center"),
        ("{{ 'a' | indent(10**9) }}", "indent"),
        ("{{ x.replace('', 'a' * 100000).replace('', 'a' * 10000) }}", _MEMORY),
        ("{{ 'a' | batch(10**9, 'x') | list }}", _MEMORY),
        ("{% for i in range(10001) %}{{ i }}{% endfor %}", _LONG),
        ("{% set s = namespace(v=[1]) %}{% for i in range(60) %}{% set s.v = s.v + s.v %}{% endfor %}{{ s.v }}", _LONG),
        ("{% for i in range(9999) %}{{ 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' }}{% endfor %}", "200000 characters"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", _MEMORY),
        ("{{ " + "(" * 5000 + " }}", _MEMORY),
        ("{{ 1" + "+1" * 10_000 + " }}", _MEMORY),
        ("{% if x %}" * 3000 + "{{ x }}" + "{% endif %}" * 3000, _MEMORY),
        ("".join(f"{{{{ v{number} }}}}" for number in range(65)), "64 names"),
        ("a" * 70_000 + "{{ x }}", "64000 characters"),
        ("{{ x", "unexpected end"),
        ("{{ {{ x }} }}", "expected"),
        ("{{ 1 / 0 }}", "division"),
        ("{{ d.nokey }}", "no attribute"),
    ],
)
def test_what_a_message_must_not_do_is_refused_in_plain_words(renderer: Renderer, text: str, why: str) -> None:
    with pytest.raises(NotRendered) as refused:
        rendered(renderer, text)
    assert why in str(refused.value)
    assert "/tmp" not in str(refused.value)
