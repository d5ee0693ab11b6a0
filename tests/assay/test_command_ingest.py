"""Folders, archives, documents and tables into a collection by the command, with a search worker."""

from __future__ import annotations

import json
import zipfile

import pytest

from tests.assay.terminal import Shell, written
from tests.assay.test_command_backup import search_worker


def records_of(shell: Shell, collection: str, table: str) -> dict[str, dict[str, object]]:
    listed = shell("collection", "records", collection, table, "--json")
    assert listed.status == 0, listed.talk
    return {record["id"]: record for record in listed.json["result"]["records"]}


@pytest.mark.slow(seconds=40)
def test_a_folder_a_zip_and_a_table_of_other_columns_are_ingested(shell: Shell) -> None:
    folder = shell.folder / "handbook"
    (folder / "it").mkdir(parents=True)
    (folder / "leave.md").write_text("# Leave\n\nThirty days.\n")
    (folder / "it" / "vpn.html").write_text("<html><title>VPN</title><p>Use it.</p></html>")
    (folder / "it" / "bad.pdf").write_text("%PDF-1.4 nonsense")
    with zipfile.ZipFile(shell.folder / "more.zip", "w") as archive:
        archive.writestr("travel.md", "# Travel\n\nBy train.\n")
    goods = written(shell, "goods.csv", "goods of today\n\nsku;title;Preis\nA1;Pump;19,99\nA2;Wheel;k. A.\n")
    spec = written(shell, "spec.json", json.dumps({"goods": {"fields": {"price": "float"}}}))
    assert shell("collection", "create", "shop", spec).status == 0
    with search_worker(shell):
        made = shell("ingest", str(folder), "-c", "docs", "--create")
        assert (made.status, made.out.splitlines()[0]) == (1, "2 ingested, 0 updated, 0 unchanged, 0 deleted"), (
            made.talk
        )
        assert "it/bad.pdf: the file cannot be read: it is not a readable PDF" in made.talk
        again = shell("ingest", str(shell.folder / "more.zip"), "-c", "docs")
        assert again.status == 0, again.talk
        (folder / "it" / "bad.pdf").unlink()
        same = shell("ingest", str(folder), "-c", "docs")
        assert (same.status, same.out.splitlines()[0]) == (0, "0 ingested, 0 updated, 2 unchanged, 0 deleted")
        docs = records_of(shell, "docs", "handbook")
        assert {id: record["fields"] for id, record in docs.items()} == {
            "leave.md": {"path": "leave.md", "title": "Leave"},
            "it/vpn.html": {"path": "it/vpn.html", "title": "VPN"},
            "travel.md": {"path": "travel.md", "title": "Travel"},
        }
        options = ("--map", "id=sku,name=title,price=Preis", "--header-row", "3", "--na-value", "k. A.")
        sold = shell("ingest", goods, "-c", "shop", *options)
        assert sold.status == 0, sold.talk
        assert "delimiter ';'" in sold.talk
        found = records_of(shell, "shop", "goods")
        assert [(id, each["name"], each["fields"]) for id, each in sorted(found.items())] == [
            ("A1", "Pump", {"price": 19.99}), ("A2", "Wheel", {}),
        ]  # fmt: skip
    assert shell("ingest", goods, "-c", "shop", "--map", "id").status == 2
    assert shell("ingest", str(folder), "-c", "docs", "--dry-run").status == 2
