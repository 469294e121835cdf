"""The entry of ``nsys-digest`` and of ``python -m nsys_digest``: signals first, then all the rest."""

from __future__ import annotations

import os

from nsys_digest import signals
from nsys_digest.errors import NO_MEMORY

_LINE = f"nsys-digest: {NO_MEMORY} [out-of-resources]\n".encode()  # made while there is memory
_MODULES_BYTES = 32 << 20


def main() -> int:
    """Run the command line; a signal, or memory that runs out even for its modules, ends it with one line."""
    signals.end_at_once()
    try:
        bytes(_MODULES_BYTES)  # zeros that are never touched cost nothing; Python's own modules say more than one line
        from nsys_digest.cli import main as run

        status = run()
    except (MemoryError, ImportError, SystemError, OSError) as error:
        if not _is_of_memory(error):
            raise
        os.write(2, _LINE)
        os._exit(1)
    return signals.leave(status)


def _is_of_memory(error: BaseException | None) -> bool:
    """Tell whether memory ran out; libraries and the interpreter itself say so in words of their own."""
    if error is None or isinstance(error, MemoryError):
        return error is not None
    of_memory = "map segment" in str(error) or "allocate" in str(error) or str(error).startswith("error return without")
    return of_memory or _is_of_memory(error.__cause__ or error.__context__)


if __name__ == "__main__":
    raise SystemExit(main())
