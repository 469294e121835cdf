"""The entry of ``nsys-digest`` and of ``python -m nsys_digest``: signals first, then all the rest."""

from __future__ import annotations

from nsys_digest import signals


def main() -> int:
    """Run the command line and return its exit status; a signal ends it with one line from here on."""
    signals.end_at_once()
    from nsys_digest.cli import main as run

    return signals.leave(run())


if __name__ == "__main__":
    raise SystemExit(main())
