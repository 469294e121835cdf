"""What anybody may have written, policies, categories, stored digests and stores: read, or refused in one line."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from digests import GOLDEN, document, placed, stored
from nsys_digest import Digest, load
from nsys_digest.errors import DigestInvalid, PolicyInvalid, StoreUnreadable
from nsys_digest.files import read_text_file
from nsys_digest.gate.baselines import Store
from nsys_digest.gate.policy import load_policy, parse_policy
from nsys_digest.model import json_text
from nsys_digest.model.paths import parse_glob
from nsys_digest.model.toml_text import MOST_BYTES, parse_toml
from support import call, the_line

RULE = '[[rule]]\nfigure = "kernel_count"\n'


@pytest.mark.parametrize(
    "text",
    [
        "max = " + "9" * 5000,
        "max = 0x" + "F" * 10_000,
        "max = 9223372036854775808",
        'max = "1e300s"',
        'max_change = "1e308%"',
        ".".join("a" * 100_000) + " = 1",
        '."a"' * 100_000 + " = 1",
        'why = "' + "x" * MOST_BYTES + '"',
        "a = " + "[" * 100_000,
        '"' + "k" * 100_000 + '" = 1',
    ],
    ids=lambda text: text[:20],
)
def test_policies_beyond_all_measure(text: str) -> None:
    with pytest.raises(PolicyInvalid) as caught:
        parse_policy(f"{RULE}{text}\n", "p.toml")
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)


def test_dots_in_texts_and_comments_are_no_keys() -> None:
    dots = "a." * 500
    text = (
        f"# {dots}\nx = \"{dots}\"\ny = '{dots}'\nz = \"\"\"\n{dots}\n\"\"\"\nw = [{'1.5, ' * 500}]\nv = '''{dots}'''\n"
    )
    assert parse_toml(text)["x"] == dots


@pytest.mark.parametrize("stars", [1, 2, 12, 200])
def test_a_glob_costs_no_more_than_its_name_is_long(stars: int) -> None:
    """With a way back into each star, twelve of them would take the twelfth power of the length."""
    segment = parse_glob("*a" * stars + "b")
    assert not segment.matches("a" * 3000)
    assert segment.matches("a" * 3000 + "b")


def plain(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(plain(pattern[1:], text[at:]) for at in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and plain(pattern[1:], text[1:])


def test_globs_mean_what_they_say() -> None:
    """Every pattern of up to five signs against every text of up to five letters."""
    signs, letters = "ab*?", "ab"

    def words(alphabet: str, length: int) -> list[str]:
        found = [""]
        for _ in range(length):
            found += [word + sign for word in found for sign in alphabet]
        return sorted({word for word in found if len(word) <= length})

    texts = words(letters, 5)
    for pattern in words(signs, 4):
        segment = parse_glob(pattern)
        assert [segment.matches(text) for text in texts] == [plain(pattern, text) for text in texts], pattern


@pytest.fixture(params=["pipe", "endless", "loop", "folder"])
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "odd"
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "endless":
        path.symlink_to("/dev/zero")
    elif request.param == "loop":
        path.symlink_to(path)
    else:
        path.mkdir()
    return path


def test_what_is_no_regular_file_is_refused(odd: Path) -> None:
    same = GOLDEN / "serve.json"
    the_line(call("check", same, "-b", same, "-p", odd), 2, "policy-invalid")
    trace = GOLDEN.parent / "traces" / "serve.sqlite"
    the_line(call("summarize", trace, "--categories", odd), 2, "categories-invalid")
    with pytest.raises(OSError, match=r"."):
        read_text_file(odd, 100)


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbf" + b"x" * 97)
    assert read_text_file(path, 100) == "x" * 97
    with pytest.raises(OSError, match="larger than 99 bytes"):
        read_text_file(path, 99)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": ' + b"9" * 5000 + b"}", "5,000 digits"),
        (b'{"a": ' + b"9" * 21 + b"}", "21 digits"),
        (b'{"a": NaN}', "NaN is no number"),
        (b'{"a": -Infinity}', "-Infinity is no number"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b"{}", "schema_version is None"),
        (b'{"schema_version": "2.0"}', "'2.0'"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_stored_digests_that_are_none(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "digest.json"
    path.write_bytes(data)
    with pytest.raises(DigestInvalid, match=re.escape(said)) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    the_line(call("diff", path, path), 3, "digest-invalid")


def test_a_stored_digest_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stored(tmp_path, "digest.json", document("serve"))
    monkeypatch.setattr(json_text, "MOST_BYTES", path.stat().st_size)
    load(path)
    monkeypatch.setattr(json_text, "MOST_BYTES", path.stat().st_size - 1)
    with pytest.raises(DigestInvalid, match=r"larger than .* bytes"):
        load(path)


def test_a_newer_minor_version_is_read(tmp_path: Path) -> None:
    """It has keys, in every object, and a cause of idle time that this version has never heard of."""
    whole = json.loads(json.dumps(document("serve")))
    cause = whole["idle"]["devices"][0]["causes"]["host"]
    newer = placed(whole, {("schema_version",): "1.99", ("idle", "devices", 0, "causes", "moonlight"): dict(cause)})
    for table in [
        newer,
        *_objects(newer["capture"]),
        *newer["devices"],
        *_objects(newer["idle"]["devices"][0]["causes"]),
    ]:
        table["unheard_of"] = {"a": [1]}
    digest = load(stored(tmp_path, "newer.json", newer))
    assert digest.idle is not None
    assert digest.idle.devices[0].causes["moonlight"] == digest.idle.devices[0].causes["host"]
    Digest.from_json(digest.to_json())
    path = stored(tmp_path, "again.json", newer)
    for words in (("check", path, "-b", path), ("diff", path, path), ("check", "--init", path)):
        assert call(*words, "-o", tmp_path / "out").status == 0, words
    assert call("baseline", "save", "newer", path, "--store", tmp_path / "store").status == 0
    shown = call("baseline", "show", "@newer", "--store", tmp_path / "store", "-f", "text")
    assert "moonlight: of a newer version of the digest" in shown.out


@pytest.mark.parametrize("busy", [1e290, -1e290])
def test_times_that_no_trace_has_are_drawn_within_the_line(busy: float, tmp_path: Path) -> None:
    path = stored(tmp_path, "odd.json", placed(document("serve"), {("gpu_busy_union_s",): busy}))
    assert call("baseline", "save", "odd", path, "--store", tmp_path / "store").status == 0
    shown = call("baseline", "show", "@odd", "--store", tmp_path / "store", "-f", "text")
    assert shown.status == 0
    assert all(line.count("█") <= 120 for line in shown.out.splitlines())


def test_a_range_without_a_name_is_in_no_policy(tmp_path: Path) -> None:
    """A policy requires ranges by name, and nothing is no name."""
    ranges = document("serve")["nvtx"]
    longest = dict(next(iter(ranges.values())), union_s=1e6)
    policy = tmp_path / "p.toml"
    path = stored(tmp_path, "named.json", placed(document("serve"), {("nvtx", ""): longest}))
    assert call("check", "--init", path, "-o", policy).status == 0
    assert call("check", path, "-b", path, "-p", policy).status == 0
    assert "nvtx = ''" not in policy.read_text()


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a table that have fixed keys."""
    return [item for item in value.values() if isinstance(item, dict) and "sum_s" in item]


def test_a_store_that_may_not_be_read_is_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    assert call("baseline", "save", "main", GOLDEN / "serve.json", "--store", store).status == 0
    closed = {store / "main"}
    listed = Path.iterdir

    def guarded(folder: Path) -> Any:
        if folder in closed:
            raise PermissionError(13, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", guarded)
    for words in (("baseline", "list"), ("baseline", "show", "@main"), ("check", GOLDEN / "serve.json", "-b", "@main")):
        said = the_line(call(*words, "--store", store), 3, "store-unreadable")
        assert "Permission denied" in said
    closed = {store}
    with pytest.raises(StoreUnreadable):
        Store(store).entries()
    file = tmp_path / "file"
    file.touch()
    the_line(call("baseline", "list", "--store", file), 3, "store-unreadable")
    assert json.loads(call("baseline", "list", "--store", tmp_path / "none", "-f", "json").out)["entries"] == []


def test_a_pipe_in_a_store_is_left_out(tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert call("baseline", "save", "main", GOLDEN / "serve.json", "--store", store).status == 0
    os.mkfifo(store / "main" / "0.json")
    listing = Store(store).entries("main")
    assert (len(listing.entries), len(listing.damaged)) == (1, 1)
    assert "not a regular file" in listing.damaged[0]


def test_messages_of_a_store_end_in_a_code_and_are_one_line(tmp_path: Path) -> None:
    store = tmp_path / "\x1b[31m\n::error::x"
    saved = call("baseline", "save", "main", GOLDEN / "serve.json", "--store", store)
    assert saved.status == 0
    assert saved.out.count("\n") == 1
    assert saved.out[:-1].isprintable()
    again = call("baseline", "update", "main", GOLDEN / "rank_0.json", GOLDEN / "serve.json", "--store", store)
    assert again.err.endswith("/main: 1 earlier run of main dropped [baseline-dropped]\n")
    assert again.err[:-1].isprintable()
    gone = call("check", GOLDEN / "serve.json", "-b", "@none", "--store", "my store")
    assert "--store 'my store' [baseline-missing]" in gone.err


def test_a_policy_that_is_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    real.write_text(f"{RULE}max = 1\n", encoding="utf-8")
    (tmp_path / "link.toml").symlink_to(real)
    assert load_policy(tmp_path / "link.toml").rules[0].most == 1
