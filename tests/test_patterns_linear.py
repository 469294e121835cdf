"""No pattern of ours goes back over a long name again and again: names of 100,000 characters, made to provoke it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nsys_digest.trace.collect.name_folds import fold_name
from support import environment

LENGTH = 100_000
LIMIT_S = 20
"""For one pattern and one name, where a second is much: what goes back over the name takes a minute and more."""

SEARCH = """
import importlib, pkgutil, re, signal, sys
import nsys_digest
from nsys_digest.model.kernel_categories import KernelCategories

length = int(sys.argv[1])
GENERAL = ["a", "0", "_", " ", "x0", "0a", "1d", "(", "[", "::", "#", "'", '"', "a ", "a_0"]

def patterns(value, name):
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from patterns(part, name)
    elif hasattr(type(value), "__slots__") or hasattr(value, "__dict__"):
        if type(value).__module__.startswith("nsys_digest") and not isinstance(value, type):
            for part in vars(value).values() if hasattr(value, "__dict__") else ():
                yield from patterns(part, name)

found = {}
for rule in KernelCategories.shipped().patterns:
    found[rule.pattern] = re.compile(rule.pattern)
for module in pkgutil.walk_packages(nsys_digest.__path__, "nsys_digest."):
    if module.name.startswith("nsys_digest.workloads") and "phases" not in module.name or "__main__" in module.name:
        continue  # those need packages that are optional, and read no names of others
    for key, value in vars(importlib.import_module(module.name)).items():
        if module.name != "nsys_digest.gate.policy":
            found |= {f"{name} {p.pattern}": p for name, p in patterns(value, f"{module.name}.{key}")}
assert len(found) > 90, len(found)
for name, pattern in found.items():
    if isinstance(pattern.pattern, bytes):
        continue
    own = re.findall(r"[A-Za-z0-9_:, =]{2,}", re.sub(r"\\\\\\\\[a-zA-Z]|\\{[^}]*\\}", "", pattern.pattern))[:6]
    for piece in [*GENERAL, *own, *(part[:-1] + "_" for part in own)]:
        text = piece * (length // len(piece))
        print(name, piece, flush=True)
        signal.alarm(int(sys.argv[2]))  # ends this process, also within a search
        for _ in pattern.finditer(text + "\\x01"):
            pass
"""


@pytest.mark.parametrize("count", [1, 3])
def test_serial_numbers_are_folded_as_ever(count: int) -> None:
    for serial in (", seq = -1", ", op_id = 12", ", sizes = [[1, 2], []]", ", input_op_ids = [(1,0)]"):
        assert fold_name("aten::mm" + serial * count) == "aten::mm"
        assert fold_name("aten::mm" + serial * count + "x") == "aten::mm" + serial * count + "x"
        assert fold_name("a, seq = 1, b" + serial * count) == "a, seq = 1, b"
        assert fold_name(serial * count) == ""


@pytest.mark.slow
def test_patterns_take_linear_time() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, str(LENGTH), str(LIMIT_S)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout.splitlines()[-1:], done.stderr)
