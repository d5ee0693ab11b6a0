"""Requests that are small to send and dear to read."""

from __future__ import annotations

import base64

from benchmarks.attacks.attacker import Attack, Attacker


async def ingest_of_no_objects(attacker: Attacker) -> None:
    given = {"collection": "c", "table": "t", "records": [1] * 900_000}
    await attacker.endlessly(lambda: attacker.submit("ingest", given))


async def records_with_unknown_fields(attacker: Attacker) -> None:
    records = [{"id": str(number), "nonsense": 1} for number in range(20_000)]
    await attacker.endlessly(lambda: attacker.submit("ingest", {"collection": "c", "table": "t", "records": records}))


async def flow_with_one_huge_number(attacker: Attacker) -> None:
    nodes = [{"id": f"n{number}", "position": {"x": number, "y": 0}, "data": {}} for number in range(40_000)]
    nodes[0]["data"] = {"huge": 9_223_372_036_854_775_808_000}
    await attacker.endlessly(lambda: attacker.send("POST", "/v1/flows", {"name": "f", "nodes": nodes, "edges": []}))


async def front_matter_of_many_names(attacker: Attacker) -> None:
    lines = "\n".join(f"p{number}: {{}}" for number in range(2_000))
    text = f"---\nparams:\n{lines}\n---\n"
    await attacker.endlessly(lambda: attacker.submit("document", {"markdown": text}), 2)


async def yaml_with_merges(attacker: Attacker) -> None:
    levels = "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 8)}]}}\n" for n in range(1, 8))
    text = f"---\na0: &a0 {{x: 1}}\n{levels}---\n"
    await attacker.endlessly(lambda: attacker.submit("document", {"markdown": text}), 2)


async def expression_that_backtracks(attacker: Attacker) -> None:
    pattern = "a?" * 24 + "a" * 24
    text = f'&[name]{{pattern="{pattern}" default="{"a" * 24}"}}\n'
    given = {"markdown": text, "parameters": {"name": "a" * 24}}
    await attacker.endlessly(lambda: attacker.submit("document", given), 2)


async def document_of_many_blocks(attacker: Attacker) -> None:
    text = "::: describe x <<<\n" * 45_000
    await attacker.endlessly(lambda: attacker.submit("document", {"markdown": text}))


async def arrays_within_arrays(attacker: Attacker) -> None:
    body = b'{"kind": "execute", "input": ' + b"[" * 400_000 + b"]" * 400_000 + b"}"
    await attacker.endlessly(lambda: attacker.send("POST", "/v1/jobs", body), 2)


async def object_of_many_names(attacker: Attacker) -> None:
    labels = {f"name-{number}": "x" for number in range(60_000)}
    body = {"kind": "execute", "input": {"language": "python", "code": "1"}, "labels": labels}
    await attacker.endlessly(lambda: attacker.send("POST", "/v1/jobs", body), 2)


async def numbers_of_many_digits(attacker: Attacker) -> None:
    body = b'{"kind": "execute", "input": {"language": "python", "code": "1", "seed": ' + b"9" * 900_000 + b"}}"
    await attacker.endlessly(lambda: attacker.send("POST", "/v1/jobs", body), 2)


async def bodies_that_are_too_large(attacker: Attacker) -> None:
    body = b'{"kind": "execute", "input": "' + b"x" * 20_000_000 + b'"}'
    await attacker.endlessly(lambda: attacker.send("POST", "/v1/jobs", body), 4)


async def flows_of_many_nodes(attacker: Attacker) -> None:
    nodes = [{"id": f"n{number}", "position": {"x": 0, "y": 0}, "data": {"label": "x"}} for number in range(20_000)]
    edges = [{"id": f"e{number}", "source": "n0", "target": f"n{number}"} for number in range(1, 20_000)]
    await attacker.endlessly(lambda: attacker.send("POST", "/v1/flows", {"name": "f", "nodes": nodes, "edges": edges}))


async def mermaid_of_many_lines(attacker: Attacker) -> None:
    text = "flowchart LR\n" + "".join(f"  a{number} --> a{number + 1}\n" for number in range(30_000))
    await attacker.endlessly(lambda: attacker.send("POST", "/v1/flows/import", {"format": "mermaid", "text": text}))


async def batches_of_a_thousand(attacker: Attacker) -> None:
    job = {"kind": "execute", "input": {"language": "sql", "code": "SELECT 1"}}
    await attacker.endlessly(lambda: attacker.send("POST", "/v1/batches", {"jobs": [job] * 1_000}), 2)


async def definitions_of_many_patterns(attacker: Attacker) -> None:
    rows = "".join(f"  - {{id: d{n}, kind: framework, name: N, files: ['{'*' * 50}']}}\n" for n in range(5_000))
    text = {"text": f"definitions:\n{rows}"}
    await attacker.endlessly(lambda: attacker.send("POST", "/v1/stacks/definitions/check", text), 2)


async def cursors_that_are_wrong(attacker: Attacker) -> None:
    cursor = base64.urlsafe_b64encode(b"[" * 5_000).decode()
    await attacker.endlessly(lambda: attacker.send("GET", f"/v1/jobs?cursor={cursor}"), 8)


ATTACKS: tuple[Attack, ...] = (
    ingest_of_no_objects, records_with_unknown_fields, flow_with_one_huge_number, front_matter_of_many_names,
    yaml_with_merges, expression_that_backtracks, document_of_many_blocks, arrays_within_arrays,
    object_of_many_names, numbers_of_many_digits, bodies_that_are_too_large, flows_of_many_nodes,
    mermaid_of_many_lines, batches_of_a_thousand, definitions_of_many_patterns, cursors_that_are_wrong,
)  # fmt: skip
