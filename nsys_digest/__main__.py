"""``python -m nsys_digest`` is ``nsys-digest``."""

from nsys_digest.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
