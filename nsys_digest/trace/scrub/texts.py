"""Words that identify, taken out of texts that stay: each becomes a token that is made of the salt."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from nsys_digest.trace.nsys.private import Private

_LETTERS: Final = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_ROOT_FOLDERS: Final = """
    home Users root tmp var usr opt etc mnt media data scratch work workspace workspaces lustre gpfs nfs proc dev srv
    run private Volumes storage projects project global lus fsx gscratch export net lib lib64 bin sbin sys boot efs
    cluster hpc apps sw software
"""
_ROOTS: Final = frozenset(_ROOT_FOLDERS.split())
_REST: Final = r"(?:/[^\s\"'<>|:;,()\[\]{}=/\\]+)+/?"
_OTHERS: Final = (
    ("path", r"[A-Za-z]:\\[^\s\"'<>|;,]+|\\\\[\w.-]+\\[^\s\"'<>|;,]+|(?<![\w/])~[\w.-]*/[^\s\"'<>|:;,]+"),
    ("email", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}"),
    ("mac", r"(?<![\w:-])[0-9A-Fa-f]{2}(?P<sep>[:-])[0-9A-Fa-f]{2}(?:(?P=sep)[0-9A-Fa-f]{2}){4}(?![\w:-])"),
    ("ip", r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w]|\.\d)"),
)
_IPV6: Final = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])")
LONG: Final = 6
"""A value of so many characters is looked for anywhere, a shorter one as a word of its own."""
_REMEMBERED: Final = 1 << 16


class Salt:
    """What tokens are made with: the same text gives the same token for the same salt."""

    def __init__(self, text: str | None) -> None:
        """Take a salt, or a random one."""
        self._key = (
            secrets.token_bytes(32) if text is None else hashlib.sha256(text.encode("utf-8", "replace")).digest()
        )

    def letters(self, text: str, length: int = 16) -> str:
        """Return letters from a to p that stand for a text, four bits each; no digits, which folds of names merge."""
        return self._hex(text)[:length].translate(_LETTERS)

    def uuid(self, text: str) -> str:
        """Return a uuid that stands for another."""
        found = self._hex(f"uuid {text}")
        return f"{found[:8]}-{found[8:12]}-{found[12:16]}-{found[16:20]}-{found[20:32]}"

    def _hex(self, text: str) -> str:
        return hmac.new(self._key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


class PrivateWords:
    """Finds what identifies in texts: values that the trace tells elsewhere, and paths and addresses by their form."""

    def __init__(self, private: Private, salt: Salt) -> None:
        """Take what the trace tells of people and machines."""
        self._salt = salt
        self.counts: Counter[str] = Counter()
        """How many different texts held something of each kind."""
        self._known = {value: kind for value, kind in private.kind_of().items() if kind != "program output"}
        self._long = sorted((value for value in self._known if len(value) >= LONG), key=len, reverse=True)
        short = sorted((value for value in self._known if len(value) < LONG), key=len, reverse=True)
        self._short = _any_word(short) if short else None
        self._forms = re.compile("|".join(f"(?P<{kind}{at}>{form})" for at, (kind, form) in enumerate(_forms(private))))

    def scrub(self, texts: Iterable[str]) -> dict[str, str]:
        """Return what each text becomes; many at once, since most hold nothing."""
        found = {text: text for text in texts}
        joined = "\0".join(found)
        values = [value for value in self._long if value in joined]
        short = self._short is not None and self._short.search(joined) is not None
        forms = self._forms.search(joined) is not None
        addresses = _IPV6.search(joined) is not None
        if values or short or forms or addresses:
            for text in found:
                found[text] = self._one(text, values)
        return found

    def _one(self, text: str, values: Iterable[str]) -> str:
        kinds: set[str] = set()

        def token(kind: str, value: str) -> str:
            kinds.add(kind)
            return f"<{kind.replace(' ', '-')}-{self._salt.letters(f'{kind} {value}', 8)}>"

        def by_form(match: re.Match[str]) -> str:
            return token(str(match.lastgroup).rstrip("0123456789"), match[0])

        def by_address(match: re.Match[str]) -> str:
            return token("ip", match[0]) if _is_ipv6(match[0]) else match[0]

        changed = self._forms.sub(by_form, text)
        changed = _IPV6.sub(by_address, changed)
        for value in values:
            if value in changed:
                changed = changed.replace(value, token(self._known[value], value))
        if self._short is not None:
            changed = self._short.sub(lambda match: token(self._known[match[0]], match[0]), changed)
        self.counts.update(kinds)
        return changed


def _forms(private: Private) -> list[tuple[str, str]]:
    roots = "|".join(sorted(map(re.escape, _ROOTS | private.roots), key=len, reverse=True))
    return [
        ("path", rf"(?<![\w/.~-])/(?:{roots}){_REST}|/(?:home|Users)/[^\s\"'<>|:;,()\[\]{{}}=/\\]+(?:{_REST})?"),
        *_OTHERS,
    ]


def _any_word(words: list[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, words))})(?![A-Za-z0-9])")


def _is_ipv6(text: str) -> bool:
    """Tell an address from C++ names and times: it is a valid one of four or more groups, or of a known beginning."""
    groups = [group for group in text.split(":") if group]
    if len(groups) < 4 and not text.lower().startswith(("fe80:", "fd", "2001:")):
        return False
    if not any(sign.isdigit() for sign in text):
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


class Remembered:
    """The last so many results of a function of texts that takes many at once."""

    def __init__(self, work: Callable[[list[str]], Mapping[str, str]]) -> None:
        """Take the function."""
        self._work = work
        self._known: dict[str, str] = {}

    def all(self, texts: Iterable[str]) -> dict[str, str]:
        """Return what each text becomes."""
        wanted = set(texts)
        new = [text for text in wanted if text not in self._known]
        if new:
            if len(self._known) > _REMEMBERED:
                self._known = {text: self._known[text] for text in wanted if text in self._known}
            self._known |= self._work(new)
        return self._known
