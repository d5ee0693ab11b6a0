"""Git sources: https to public addresses, without a work tree, and nothing that a repository holds is run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from services.stacks.engine import DetectOptions
from services.stacks.selector import ArchiveSelector
from services.stacks.sources.collector import SourceLimits
from services.stacks.sources.git import checked_address, open_git
from services.stacks.sources.git_process import GitLimits
from shared.contracts.detect import DetectInput, DetectResult
from shared.errors import JobCancelled, SourceNotAllowed, SourceTooLarge, SourceUnreadable
from tests.services.stacks.sources.git_server import GitServer, commit, git, git_server, new_repository
from tests.services.stacks.trees import engine, service

FILES = {"package.json": {"name": "web", "dependencies": {"koa": "2"}}, "index.js": "1\n" * 100, "docs/x.md": "x\n"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    for program in ("git", "openssl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    with git_server(tmp_path_factory.mktemp("git")) as running:
        folder = new_repository(running.root, "web")
        commit(
            folder,
            {**FILES, "large.bin": b"\0\1" * 300_000, "api/go.mod": "module api\n", "api/main.go": "package main\n"},
        )
        git(folder, "tag", "v1")
        (folder / "link").symlink_to("/etc/passwd")
        commit(
            folder,
            {
                "package.json": {"name": "web", "dependencies": {"fastify": "4"}},
                "big/package.json": {"name": "x" * 300_000},
            },
        )
        yield running


def git_limits(server: GitServer, seconds: float = 120) -> GitLimits:
    return GitLimits(seconds=seconds, private_hosts=True, ca_file=server.ca_file)


def detected(server: GitServer, ref: str | None = None, name: str = "web", seconds: float = 120) -> DetectResult:
    select = ArchiveSelector(engine().tables)
    with open_git(server.url(name), ref, select, SourceLimits(), git_limits(server, seconds), lambda: False) as tree:
        assert tree.identity is not None
        return engine().detect(tree, DetectOptions())[0]


@pytest.mark.slow
def test_a_repository_is_read_at_its_head(server: GitServer) -> None:
    result = detected(server)
    assert [service.path for service in result.services] == ["", "api", "big"]
    assert service(result).primary.framework == "fastify"
    assert result.languages == {"JavaScript": 200, "Go": 13}
    assert service(result, "big").name == "x" * 300_000


@pytest.mark.slow
@pytest.mark.parametrize("ref", ["v1", "refs/tags/v1"])
def test_a_ref_chooses_the_commit(server: GitServer, ref: str) -> None:
    assert service(detected(server, ref)).primary.framework == "koa"


def test_a_commit_is_a_ref_too(server: GitServer) -> None:
    first = git(server.root / "web", "rev-list", "--max-parents=0", "HEAD").strip()
    assert service(detected(server, first)).primary.framework == "koa"


def test_an_unknown_ref_is_told(server: GitServer) -> None:
    with pytest.raises(SourceUnreadable, match="no such branch"):
        detected(server, "nowhere")


def test_an_unknown_repository_is_told(server: GitServer) -> None:
    with pytest.raises(SourceUnreadable, match="no public repository"):
        detected(server, name="nothing")


def test_a_redirect_is_not_followed(server: GitServer) -> None:
    server.redirect = f"https://127.0.0.1:{server.port}/other"
    try:
        before = len(server.requests)
        with pytest.raises(SourceUnreadable):
            detected(server)
        assert len(server.requests) == before + 1
    finally:
        server.redirect = None


def test_fetching_ends_with_the_job_its_time_and_its_room(server: GitServer) -> None:
    select = ArchiveSelector(engine().tables)
    with (
        pytest.raises(JobCancelled),
        open_git(server.url("web"), None, select, SourceLimits(), git_limits(server), lambda: True),
    ):
        pass
    with pytest.raises(SourceUnreadable, match="in time"):
        detected(server, seconds=0.0001)
    assert SourceTooLarge.status == 422


@pytest.mark.slow
def test_nothing_is_left_behind(server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    detected(server)
    assert list(tmp_path.iterdir()) == []


def warnings_of(server: GitServer, name: str, limits: SourceLimits) -> list[str]:
    select = ArchiveSelector(engine().tables)
    with open_git(server.url(name), None, select, limits, git_limits(server), lambda: False) as tree:
        return engine().detect(tree, DetectOptions())[1]


def test_more_manifests_than_are_kept_are_not_read(server: GitServer) -> None:
    folder = new_repository(server.root, "heavy")
    commit(folder, {f"p{n}/package.json": {"name": f"p{n}", "x": "a" * 200_000} for n in range(12)})
    told = warnings_of(server, "heavy", SourceLimits(kept_bytes=1 << 20))
    assert any(warning.startswith("the manifests exceed 1 MB") for warning in told), told


@pytest.mark.slow
def test_a_blob_at_many_paths_is_kept_once(server: GitServer) -> None:
    folder = new_repository(server.root, "copies")
    commit(folder, {f"p{n}/package.json": {"name": "same", "x": "a" * 200_000} for n in range(60)})
    assert warnings_of(server, "copies", SourceLimits(kept_bytes=1 << 20)) == []


@pytest.mark.slow
def test_a_commit_of_endless_folders_is_refused(server: GitServer) -> None:
    """Ten folders that are one, ten times over: a few hundred bytes that list a thousand million files."""
    folder = new_repository(server.root, "endless")
    commit(folder, {"package.json": {"name": "a"}})
    tree = git(folder, "rev-parse", "HEAD^{tree}").strip()
    for _ in range(9):
        listed = "".join(f"040000 tree {tree}\tfolder{n}\n" for n in range(10))
        tree = git(folder, "mktree", stdin=listed).strip()
    git(folder, "update-ref", "HEAD", git(folder, "commit-tree", tree, "-m", "x").strip())
    with pytest.raises(SourceTooLarge):
        warnings_of(server, "endless", SourceLimits(entries=10_000, names_bytes=1 << 20))


def test_a_listing_longer_than_the_limits_ends_git(server: GitServer) -> None:
    folder = new_repository(server.root, "many")
    commit(folder, {f"f{n}.txt": "x" for n in range(300)})
    with pytest.raises(SourceTooLarge, match="100 entries"):
        warnings_of(server, "many", SourceLimits(entries=100))


REFUSED = [
    "http://github.com/a/b", "git://github.com/a/b", "ssh://git@github.com/a/b", "git@github.com:a/b", "file:///etc", "ext::sh -c id",
    "-uhttps://github.com", "https://user:pass@github.com/a/b", "https://token@github.com/a/b", "https://127.0.0.1/a", "https://localhost/a",
    "https://10.1.2.3/a", "https://192.168.0.1/a", "https://169.254.169.254/latest", "https://[::1]/a", "https://[fe80::1]/a",
    "https://[::ffff:10.0.0.1]/a", "https://2130706433/a", "https://0x7f000001/a", "https://0177.0.0.1/a", "https://127.1/a", "https://intranet/a",
    "https://foo.local/a", "https://metadata.google.internal/a", "https:///a", "https://", "https://a b.com/x", "https://github.com\\@127.0.0.1/a",
    "https://[64:ff9b::7f00:1]/a", "https://[::127.0.0.1]/a", "https://0.0.0.0/a", "https://100.64.0.1/a", "HTTPS:github.com", "https://github.com:0/a", "",
    "https://bücher.example/a", "https://evil。example/a", "https://ⓔxample.com/a", "https://a%2eexample.com/a", "https://github.com./a", "https://[fe80::1%25eth0]/a",
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED)
def test_other_urls_are_not_allowed(url: str) -> None:
    with pytest.raises(ValidationError) as refused:
        DetectInput.model_validate({"source": {"git": url}})
    error = refused.value.errors()[0]
    assert error["type"] == ("source_not_allowed" if url else "string_too_short")
    assert "pass" not in error["msg"].replace("password", "")


@pytest.mark.parametrize("url", ["https://github.com/a/b", "https://gitlab.com/a/b.git", "https://8.8.8.8/a", "https://git.example.org:8443/a", "https://[2606:4700::1111]/a", "https://xn--bcher-kva.example/a"])  # fmt: skip
def test_public_https_urls_are_allowed(url: str) -> None:
    assert DetectInput.model_validate({"source": {"git": url, "ref": "feature/x-1.2"}}).source.git == url


@pytest.mark.parametrize(
    "ref", ["-x", "--upload-pack=id", "a..b", "a b", "a\nb", "@{u}", "x:y", "^x", "a~1", "x.lock", "a//b"]
)
def test_refs_that_are_more_than_names_are_not_allowed(ref: str) -> None:
    with pytest.raises(ValidationError):
        DetectInput.model_validate({"source": {"git": "https://github.com/a/b", "ref": ref}})


@pytest.mark.parametrize(
    "source", [{}, {"git": "https://github.com/a/b", "path": "/x"}, {"path": "/x", "ref": "main"}, {"file_id": ""}]
)
def test_there_is_exactly_one_source(source: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        DetectInput.model_validate({"source": source})


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_names_that_lead_to_private_addresses_are_not_allowed(host: str) -> None:
    with pytest.raises(SourceNotAllowed):
        checked_address(f"https://{host}/a", private_allowed=False)


@pytest.mark.parametrize("root", ["/etc", "a/../b", "a\\b", ".."])
def test_a_root_outside_is_refused(root: str) -> None:
    with pytest.raises(ValidationError):
        DetectInput.model_validate({"source": {"path": "x"}, "root": root})


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValidationError, match="'full', 'static' or 'llm_only'"):
        DetectInput.model_validate({"source": {"path": "x"}, "mode": "llm"})
