"""Three hundred flowcharts of our own: every form of Mermaid's syntax by itself, then all of them mixed.

`mermaid_verdicts.json` holds what Mermaid's own parser reads of each. To make it again, install mermaid and jsdom in a
folder, write the charts with `python -m tests.shared.flows.mermaid_charts charts.json`, and run there
`node judge_mermaid.mjs charts.json mermaid_verdicts.json`.
"""

from __future__ import annotations

import json
import random
import sys

SHAPES = [
    ("[", "]"), ("(", ")"), ("([", "])"), ("[[", "]]"), ("[(", ")]"), ("((", "))"), ("(((", ")))"), (">", "]"),
    ("{", "}"), ("{{", "}}"), ("[/", "/]"), ("[\\", "\\]"), ("[/", "\\]"), ("[\\", "/]"), ("(-", "-)"),
]  # fmt: skip
NAMED = [
    "rect", "rounded", "stadium", "fr-rect", "cyl", "circle", "diam", "hex", "lean-r", "lean-l", "trap-b", "trap-t",
    "dbl-circ", "odd", "doc", "docs", "delay", "manual-file", "bolt", "braces", "tag-doc", "notch-rect", "lin-cyl", "hourglass",
    "sl-rect", "das", "processes", "flag", "win-pane", "cross-circ", "fork", "text", "event", "datastore",
]  # fmt: skip
LINKS = [
    "-->", "---", "--->", "----", "----->", "-.->", "-.-", "-..->", "-...-", "==>", "===", "====>", "=====", "~~~", "--o", "--x",
    "<-->", "o--o", "x--x", "<==>", "<-.->", "o==o", "x-.-x", "---o", "-.-o", "==x", "~~~~",
]  # fmt: skip
LABELLED = [
    "-->|go|", "---|go|", "-.->|go on|", "==>|go|", '-->|"quoted, (text)"|', "-- go -->", "-- go on ---", "-. go .->",
    "== go ==>", '-- "quoted" -->', "--o|one|", "<-->|both|", "--x|no|", "-- to ---", "-. maybe .-", "== sure ===",
    "-->|two words|", "--->|long|", "-- a-b -->", "<-- both -->", "x-- no --x", "-->|a & b|", "-->|#35; one|", "--go-->",
]  # fmt: skip
TEXTS = [
    "Order", "Pack it", "Ship & send", "Größe prüfen", "注文する", "is it done?", "step 1.2", "a/b", "50%", "x = y", "it's",
    "Fish, chips", "end", "End of day", "default", "click here", "a - b", "a_b", "*star*", "1", "q: what", "@home", "x; y",
]  # fmt: skip
QUOTED = [
    '"plain"', '"with (parens) [and] {braces}"', '"a | b"', '"semi; colon"', '"#quot;quoted#quot;"', '"x &lt; y"',
    '"first<br/>second"', '"one<br>two"', '"<b>bold</b> word"', '"a --> b"', '"line one\nline two"', '"100 #37;"',
    '"`**bold** and *thin*`"', '"`first\nsecond`"', '"fa:fa-car drive"', '"%% not a comment"', '"end"', '"emoji 🎉"',
]  # fmt: skip
IDS = [
    "A", "b", "node1", "my_node", "my-node", "n.1", "ID", "x1", "größe", "節点", "a1-b2", "endpoint", "subtask", "classy",
    "styleA", "graphic", "1st", "42", "Default", "fn",
]  # fmt: skip
ORNAMENT = [
    "style A fill:#f9f,stroke:#333,stroke-width:4px",
    "classDef hot fill:#f96,stroke:#333;",
    "classDef a,b fill:#fff,color:#000",
    "class A hot",
    "class A,B hot;",
    "linkStyle 0 stroke:#ff3,stroke-width:4px",
    "linkStyle default stroke:red",
    'click A "https://example.com" "tip" _blank',
    'click A href "https://example.com"',
    "click A call callback()",
    "click A callback",
    "%% a comment",
    "%%{init: {'flowchart': {'curve': 'basis'}}}%%",
    "accTitle: Orders",
    "accDescr: How an order runs",
    "accDescr {\n  Many lines\n  A --> hidden\n}",
    "classDef default fill:#eee",
    "classDef wide font-size:12px,padding:4px",
    "style A color:red;",
]
BEFORE = [
    "", "", "", "---\ntitle: Orders\n---\n", "%%{init: {'theme': 'dark'}}%%\n", "%% first a comment\n\n", "\n\n",
    '---\nconfig:\n  theme: forest\n  flowchart:\n    curve: "linear"\n---\n', '%%{init: {\n  "theme": "base"\n}}%%\n',
]  # fmt: skip
HEADERS = [
    "flowchart LR", "flowchart TD", "graph TB", "graph RL;", "flowchart BT", "graph", "flowchart", "flowchart-elk LR", "graph LR",
    "flowchart   TD", "graph <", "graph >", "graph ^", "graph v",
]  # fmt: skip
WHOLE = [
    "flowchart LR\n  A-->B-->C\n  A & B --> C & D",
    "flowchart LR\n  A & B-->|yes|C & D --- E",
    "graph TD; A-->B; B-->C; C-->A;",
    "graph LR;A--text-->B;B--o C",
    "flowchart TD\n  subgraph one\n    a1-->a2\n  end\n  subgraph two [Second part]\n    b1-->b2\n  end\n  one --> two\n  a1 --> b2",
    "flowchart TD\n  subgraph outer\n    A\n    subgraph inner\n      A --> B\n    end\n    C --> A\n  end",
    'flowchart TD\n  subgraph "Quoted title"\n    a\n  end\n  subgraph id1["Other title"]\n    direction LR\n    b --> a\n  end',
    "flowchart TD\n  subgraph title of words\n    a --> b\n  end",
    "flowchart TD\n  A --> s\n  subgraph s\n    B\n  end",
    "flowchart LR\n  subgraph empty\n  end\n  A --> empty",
    "flowchart LR\n  A e1@--> B\n  e1@{ animate: true }\n  B e2@==> C",
    'flowchart LR\n  A@{ shape: rect, label: "A text" } --> B@{ shape: circle }\n  B --> C',
    'flowchart LR\n  A@{ icon: "fa:user", form: "square", label: "User", pos: "t", h: 60 } --> B',
    'flowchart LR\n  A@{ img: "https://example.com/x.png", label: "Photo", w: 60, h: 60, constraint: "on" }\n  A --> B',
    "flowchart LR\n  A@{\n    shape: diam\n    label: Decide\n  }\n  A --> B",
    "flowchart LR\n  A --- oB\n  A --- xB\n  A---oC",
    "flowchart LR\n  A --> A\n  A --> B\n  A --> B",
    "flowchart LR\r\n  A[one]\r\n  A --> B\r\n",
    "flowchart LR\n\tA[tab] -->\tB",
    "flowchart LR\n  A:::hot --> B:::cold\n  classDef hot fill:#f96\n  classDef cold fill:#9cf,stroke:#333",
    "flowchart LR\n  A[text]:::hot\n  classDef hot color:#fff,fill:red",
    "flowchart LR\n  A[later]\n  A[last one]\n  A(other shape)",
    "flowchart TB\n  a --> b\n  b --> c\n  subgraph g1\n    b\n  end\n  subgraph g2\n    b\n    c\n  end",
    "flowchart TB\n  subgraph A\n    direction TB\n    subgraph B\n      direction RL\n      i1 -->f1\n    end\n  end\n  A --> B",
    "flowchart LR\n  A[The end] --> endit --> B[end]",
    'flowchart LR\n  A["a #quot;b#quot; #9829; #amp;"] --> B["&amp; &lt;x&gt;"]',
    "flowchart LR\n  A --> B;\n  B --> C;;\n  C --> D",
    "flowchart LR\n  A{Is it?}\n  A -->|Yes| B[OK]\n  A -->|No| C[Stop]\n  C --> A",
    "flowchart LR\n  a-b --> c-d\n  a.b --> c.d\n  a_b --> c_d",
    "flowchart LR\n  A-->B\n  %% A-->C\n  %%A-->D\n  B-->E",
    "flowchart LR\n  A[/in/] --> B[\\out\\] --> C[/top\\] --> D[\\bottom/]",
    "flowchart LR\n  A>flag] --> B(((stop)))\n  B --> C[(db)]",
    "flowchart LR\n  A -- text with spaces --> B\n  A -- text --- C\n  A == thick text ==> D\n  A -. dotted text .-> E",
    "flowchart LR\n  A ----> B\n  A -...-> C\n  A ====> D\n  A ~~~ E",
    "flowchart LR\n  subgraph s1 [One]\n    subgraph s2 [Two]\n      subgraph s3 [Three]\n        x\n      end\n    end\n  end\n  y --> x",
    "stateDiagram-v2\n  [*] --> Still",
    "classDiagram\n  Animal <|-- Duck",
    "sequenceDiagram\n  A->>B: hi",
    "flowchart LR\n  A[unclosed --> B",
    "flowchart LR\n  A --> \n  B",
]


def charts() -> list[str]:
    """Return the charts, the same ones each time."""
    rng = random.Random(39)
    texts = list(WHOLE)
    texts += [f"flowchart LR\n  A{opening}Order{closing} --> B" for opening, closing in SHAPES]
    texts += [f'flowchart LR\n  A@{{ shape: {name}, label: "Order it" }} --> B' for name in NAMED]
    texts += [f"flowchart LR\n  A {link} B\n  B --> C" for link in (*LINKS, *LABELLED)]
    texts += [f"flowchart LR\n  A[{text}] --> B" for text in (*TEXTS, *QUOTED)]
    texts += [f"flowchart LR\n  {name}[Order] --> B --> {name}" for name in IDS]
    texts += [f"flowchart LR\n  A[Order] --> B\n  {line}\n  B --> C" for line in ORNAMENT]
    texts += [f"{header}\n  A --> B" for header in HEADERS]
    while len(texts) < 300:
        texts.append(_mixed(rng))
    return texts[:300]


def _mixed(rng: random.Random) -> str:
    lines = [rng.choice(BEFORE) + rng.choice(HEADERS[:9])]
    names = rng.sample(IDS, 6)
    groups = 0
    for _ in range(rng.randint(3, 12)):
        indent = "  " * (groups + 1)
        kind = rng.random()
        if kind < 0.55:
            parts = [_node(rng, names)]
            for _ in range(rng.randint(1, 3)):
                parts += [rng.choice(LINKS if rng.random() < 0.5 else LABELLED), _node(rng, names)]
            lines.append(indent + " ".join(parts))
        elif kind < 0.65:
            lines.append(indent + _node(rng, names))
        elif kind < 0.72:
            lines.append(f"{indent}{rng.choice(names)} & {rng.choice(names)} --> {_node(rng, names)}")
        elif kind < 0.82 and groups < 3:
            title = rng.choice(["", " [Title]", ' ["Quoted title"]'])
            lines.append(f"{indent}subgraph g{len(lines)}{title}")
            groups += 1
        elif kind < 0.9 and groups:
            groups -= 1
            lines.append("  " * (groups + 1) + "end")
        else:
            lines += [f"{indent}A", indent + rng.choice(ORNAMENT[:14])]
    lines += ["  " * number + "end" for number in range(groups, 0, -1)]
    return "\n".join(lines)


def _node(rng: random.Random, names: list[str]) -> str:
    name = rng.choice(names)
    kind = rng.random()
    if kind < 0.4:
        return name
    if kind < 0.5:
        return f'{name}@{{ shape: {rng.choice(NAMED)}, label: "{rng.choice(TEXTS[:4])}" }}'
    opening, closing = rng.choice(SHAPES)
    return f"{name}{opening}{rng.choice(QUOTED if rng.random() < 0.5 else TEXTS[:8])}{closing}"


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump([{"name": str(number), "text": text} for number, text in enumerate(charts())], file)
