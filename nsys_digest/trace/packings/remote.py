"""A trace at an address (``s3://``, ``gs://``, ``https://``, ``memory://`` …), through fsspec; ``file://`` without."""

from __future__ import annotations

from pathlib import Path

from nsys_digest.errors import DigestError, TraceUnreadable, UsageInvalid
from nsys_digest.trace.packings.input_path import InputPath
from nsys_digest.trace.packings.room import Room

_EXTRA = "pip install 'nsys-digest[remote]'"
_LONGEST_REASON = 300
_LEAST_SECRET = 4


def fetch(path: Path, room: Room) -> Path:
    """Write what is at an address to a file; what ``file://`` names is read where it is.

    Raises:
        UsageInvalid: what reads such addresses is not installed, or there is no such protocol.
        TraceUnreadable: it cannot be fetched, or is longer than the limit.

    """
    from urllib.parse import unquote, urlsplit

    address = path.address if isinstance(path, InputPath) else str(path)
    protocol = urlsplit(address).scheme.lower()
    if protocol == "file":
        return Path(unquote(urlsplit(address).path))
    try:
        import fsspec
    except ImportError:
        raise UsageInvalid(f"{path}: {protocol}:// addresses need fsspec, which is not installed; {_EXTRA}") from None
    try:
        with fsspec.open(address, "rb") as stream:
            return room.write(stream, room.new_folder() / (path.name or "trace"), None)
    except DigestError:
        raise
    except ImportError as error:  # fsspec says which package reads the protocol
        raise UsageInvalid(
            f"{path}: what reads {protocol}:// addresses is not installed ({_reason(error, address, path)}); {_EXTRA}, "
            "and what that line names"
        ) from None
    except ValueError as error:
        raise UsageInvalid(f"{path}: {_reason(error, address, path)}; check the address") from None
    except FileNotFoundError:
        raise TraceUnreadable(f"{path}: there is no such file; check the address, and whether you may see it") from None
    except Exception as error:  # every protocol has errors of its own: those of aiohttp, botocore, gcsfs, paramiko …
        raise TraceUnreadable(
            f"{path}: it cannot be fetched ({_reason(error, address, path)}); check the address, the network and the "
            "credentials"
        ) from None


def _reason(error: Exception, address: str, path: Path) -> str:
    """Return what an error says, without the secrets that an address may hold."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = text.replace(address, str(path))
    query = address.partition("#")[0].partition("?")[2]
    user = address.partition("://")[2].partition("/")[0].rpartition("@")[0]
    values = (part.partition("=")[2] for part in query.split("&"))
    for secret in (query, user, *values, *user.split(":")):
        if len(secret) >= _LEAST_SECRET:
            text = text.replace(secret, "…")
    return text[:_LONGEST_REASON]
