"""Traces at addresses: fetched into a temporary file through fsspec, here a pretended one."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from builder import TraceBuilder
from nsys_digest import TraceUnreadable, UsageInvalid, inspect, load, summarize
from nsys_digest.trace.packings.input_path import input_path, is_remote, is_standard_input
from support import call

SECRET = "s3cr3t"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have temporary files made in a folder of their own, and see that none is left after each test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert [*folder.iterdir()] == []


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return a trace with one kernel."""
    return TraceBuilder().kernel(10, 30, name="gemm").write(tmp_path / "t.sqlite")


@pytest.fixture
def remote(trace: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Pretend an fsspec: what each address gives, bytes or an error."""
    there: dict[str, Any] = {"memory://box/t.sqlite": trace.read_bytes()}

    @contextmanager
    def opened(address: str, _mode: str) -> Iterator[io.BytesIO]:
        found = there.get(address, FileNotFoundError(address))
        if isinstance(found, Exception):
            raise found
        yield io.BytesIO(found)

    module = ModuleType("fsspec")
    module.open = opened  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fsspec", module)
    return there


def document(digest: Any) -> str:
    return json.dumps({key: value for key, value in digest.to_dict().items() if key not in {"file", "path"}})


@pytest.mark.usefixtures("remote")
def test_an_address_gives_the_digest_of_what_is_there(trace: Path) -> None:
    found = summarize("memory://box/t.sqlite")
    assert (found.file, found.path) == ("t.sqlite", "memory://box/t.sqlite")
    assert document(found) == document(summarize(trace)) == document(load("memory://box/t.sqlite"))
    assert inspect("memory://box/t.sqlite").tables == inspect(trace).tables
    assert call("diff", "memory://box/t.sqlite", trace).status == 0


def test_a_file_address_needs_nothing(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert document(summarize(trace.as_uri())) == document(summarize(trace))


def test_what_only_the_owner_should_see_is_nowhere(trace: Path, remote: dict[str, Any]) -> None:
    address = f"https://me:{SECRET}@host.example/t.sqlite?signature={SECRET}#x"
    remote[address] = trace.read_bytes()
    ran = call("summarize", address, "--format", "json")
    assert ran.status == 0
    assert json.loads(ran.out)["path"] == "https://host.example/t.sqlite"
    assert SECRET not in ran.out + ran.err
    for error in (OSError(f"403 for {address}"), ValueError(f"bad signature={SECRET} of me:{SECRET}")):
        remote[address] = error
        ran = call("summarize", address)
        assert ran.status in (2, 3)
        assert "https://host.example/t.sqlite: " in ran.err
        assert SECRET not in ran.err


def test_errors(remote: dict[str, Any]) -> None:
    remote["s3://box/t"] = ImportError("Install s3fs to access S3")
    with pytest.raises(UsageInvalid, match=r"what reads s3:// .* is not installed \(Install s3fs to access S3\)"):
        summarize("s3://box/t")
    remote["nope://box/t"] = ValueError("Protocol not known: nope")
    with pytest.raises(UsageInvalid, match="nope://box/t: Protocol not known: nope; check the address"):
        summarize("nope://box/t")
    with pytest.raises(TraceUnreadable, match="gs://box/t: there is no such file; check the address"):
        summarize("gs://box/t")

    class ClientConnectorError(Exception):
        """As aiohttp has one."""

    remote["https://host.example/t"] = ClientConnectorError("Cannot connect to host host.example:443")
    line = call("summarize", "https://host.example/t")
    assert (line.status, line.out) == (3, "")
    assert line.err == (
        "nsys-digest: https://host.example/t: it cannot be fetched (Cannot connect to host host.example:443); check "
        "the address, the network and the credentials [trace-unreadable]\n"
    )


def test_no_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    ran = call("summarize", "s3://box/t.sqlite")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == (
        "nsys-digest: s3://box/t.sqlite: s3:// addresses need fsspec, which is not installed; "
        "pip install 'nsys-digest[remote]' [usage-invalid]\n"
    )


@pytest.mark.usefixtures("remote")
def test_the_limit_counts_for_what_is_fetched(trace: Path) -> None:
    with pytest.raises(TraceUnreadable, match=r"memory://box/t\.sqlite: it unpacks to more than"):
        summarize("memory://box/t.sqlite", max_unpacked=trace.stat().st_size - 1)


@pytest.mark.parametrize("text", ["t.sqlite", "a:b", "C:\\t.sqlite", "a/b://c/d", "1://x", "./-", "x://"])
def test_what_is_a_path(text: str) -> None:
    path = input_path(text)
    assert not is_remote(path)
    assert not is_standard_input(path)


def test_what_is_none() -> None:
    assert is_standard_input(input_path("-"))
    address = input_path("s3://bucket//a/b.sqlite")
    assert is_remote(address)
    assert (str(address), address.name) == ("s3://bucket//a/b.sqlite", "b.sqlite")
