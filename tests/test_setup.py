"""The set-up of a fresh clone: which Python is taken, what is said where none fits, which commands there are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support import ROOT

# Answers what make-venv asks of a Python, and makes a folder in place of an environment.
PYTHON = """#!/bin/sh
case "$*" in
*print*) echo {version} ;;
*version_info*) exit {old} ;;
*ensurepip*) exit {bare} ;;
"-m venv "*) mkdir "$3"; echo kept > "$3/file"; exit {fails} ;;
"-m pip --version") exit {no_pip} ;;
esac
"""


def put(path: Path, version: str, *, bare: bool = False, fails: bool = False, no_pip: bool = False) -> None:
    """Write a program that answers as a Python of that version would."""
    old = tuple(map(int, version.split("."))) < (3, 11)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        PYTHON.format(version=version, old=int(old), bare=int(bare), fails=int(fails), no_pip=int(no_pip)),
        encoding="utf-8",
    )
    path.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the only folder on the PATH: no Python is in it, only what the script needs besides."""
    folder = tmp_path / "path"
    folder.mkdir()
    for name in ("rm", "mkdir"):
        (folder / name).symlink_to(shutil.which(name) or name)
    return folder


def make_venv(path: Path, *wanted: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(ROOT / ".ci" / "make-venv"), "env", *wanted],
        cwd=path.parent,
        env={"PATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )


def refused(path: Path, *wanted: str) -> str:
    """Return the one line with which nothing was made."""
    before = sorted(path.parent.rglob("*"))
    done = make_venv(path, *wanted)
    assert done.returncode == 1
    assert sorted(path.parent.rglob("*")) == before
    line = (done.stdout + done.stderr).splitlines()[-1]
    assert line.startswith("make: ")
    return line.removeprefix("make: ")


def test_python3_is_taken_where_it_fits(path: Path) -> None:
    put(path / "python3", "3.11")
    put(path / "python3.13", "3.13")
    done = make_venv(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Making env with {path}/python3 (Python 3.11)\n"
    assert (path.parent / "env" / "file").read_text(encoding="utf-8") == "kept\n"


@pytest.mark.parametrize("other", ["python3.11", "python3.12", "python3.13", "python3.14"])
def test_a_newer_one_is_found_beside_an_old_python3(path: Path, other: str) -> None:
    put(path / "python3", "3.9")
    put(path / other, other.removeprefix("python"))
    assert make_venv(path).stdout == f"Making env with {path}/{other} (Python {other.removeprefix('python')})\n"


def test_a_complete_one_is_found_beside_one_without_ensurepip(path: Path) -> None:
    put(path / "python3", "3.13", bare=True)
    put(path / "python3.11", "3.11")
    assert "(Python 3.11)" in make_venv(path).stdout


def test_a_shim_that_runs_nothing_is_passed_over(path: Path) -> None:
    (path / "python3").write_text("#!/bin/sh\necho no version of it is chosen >&2\nexit 127\n", encoding="utf-8")
    (path / "python3").chmod(0o755)
    put(path / "python3.12", "3.12")
    assert "(Python 3.12)" in make_venv(path).stdout


def test_an_old_python_is_named_with_its_version(path: Path) -> None:
    put(path / "python3", "3.9")
    put(path / "python", "2.7")
    line = refused(path)
    assert line.startswith("Python 3.11 or newer is needed, and python3 is 3.9, python is 2.7; install one (")
    assert line.endswith("or name it: make PYTHON=/path/to/python3")


def test_no_python_at_all(path: Path) -> None:
    assert refused(path).startswith("Python 3.11 or newer is needed; install one (Debian, Ubuntu: apt install python3 ")


def test_what_a_python_lacks_is_named_by_its_package(path: Path) -> None:
    put(path / "python3", "3.12", bare=True)
    line = refused(path)
    assert line.startswith("python3 (Python 3.12) lacks venv or ensurepip; ")
    assert "apt install python3.12-venv)" in line


def test_the_python_that_is_named_is_taken_and_no_other(path: Path, tmp_path: Path) -> None:
    put(path / "python3", "3.13")
    put(tmp_path / "mine", "3.12")
    put(tmp_path / "old", "3.10")
    assert "old is 3.10; install one" in refused(path, str(tmp_path / "old"))
    assert refused(path, "./none") == "PYTHON=./none does not run; give the path of a Python of 3.11 or newer"
    assert make_venv(path, "./mine").stdout == "Making env with ./mine (Python 3.12)\n"


def test_an_environment_that_works_is_left_alone(path: Path) -> None:
    put(path.parent / "env" / "bin" / "python", "3.11")
    done = make_venv(path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("version", "no_pip", "told"), [("3.11", True, "no working"), ("3.10", False, "Python 3.10, and")]
)
def test_an_environment_that_does_not_work_is_named(path: Path, version: str, no_pip: bool, told: str) -> None:
    put(path / "python3", "3.11")
    put(path.parent / "env" / "bin" / "python", version, no_pip=no_pip)
    line = refused(path)
    assert told in line
    assert line.endswith("; remove it, and call make again")


def test_half_an_environment_is_not_left(path: Path) -> None:
    put(path / "python3", "3.11", fails=True)
    assert refused(path) == "env could not be made; what python3 says stands above"


def targets() -> dict[str, str]:
    """Return what `make` alone says of each target."""
    return dict(re.findall(r"^([a-z-]+):.*? ## (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_every_target_is_described() -> None:
    phony = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert phony is not None
    assert sorted(phony[1].split()) == sorted(targets())
    contributing = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `make ([a-z-]+)` \|", contributing, re.MULTILINE) == [
        name for name in targets() if name != "help"
    ]


def test_make_alone_lists_the_targets() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(["make"], cwd=ROOT, env=kept, capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(targets())


def test_the_two_commands_of_the_first_page_come_first_and_are_run_by_ci() -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^```sh\n(.*?)^```$", first, re.MULTILINE | re.DOTALL)
    assert commands[:2] == ["make demo\n", "make test\n"]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert re.search(rf'^bare make .*"\$\{{python\[@\]\}}" {target}\b', ci, re.MULTILINE)
