"""What names that stay become: without the words that identify, and hashed where that is asked for.

A hashed name is letters made of the salt. What a digest takes from a name stays in it, so that figures are the same:
the category of a kernel (a word that its pattern takes), the prefix, modes and numbers of a dispatch mark, in names of
ranges numbers, where the first word ends, and the serial numbers and ids that frameworks write behind them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

from nsys_digest.model.kernel_categories import KernelCategories
from nsys_digest.trace.collect.name_folds import SERIALS
from nsys_digest.trace.nsys.scrub_rules import Treatment
from nsys_digest.trace.scrub.texts import PrivateWords, Salt

_HINTS: Final[Mapping[tuple[str | None, str | None], str]] = {
    (None, None): "k",
    ("communication", "all_reduce"): "ncclKernel_AllReduce",
    ("communication", "reduce_scatter"): "ncclKernel_ReduceScatter",
    ("communication", "all_gather"): "ncclKernel_AllGather",
    ("communication", "all_to_all"): "ncclKernel_AlltoAll",
    ("communication", "send_receive"): "ncclKernel_SendRecv",
    ("communication", "broadcast"): "ncclKernel_Broadcast",
    ("communication", "reduce"): "ncclKernel_Reduce_",
    ("communication", "dispatch"): "a2a_dispatch",
    ("communication", "combine"): "a2a_combine",
    ("communication", "barrier"): "barrier_kernel",
    ("communication", "other"): "ncclKernel",
    ("communication", None): "ncclKernel",
    ("elementwise", None): "triton_poi_",
    ("reduce", None): "triton_red_",
    ("sort_scan", None): "triton_spl_",
    ("convolution", None): "triton_conv",
    ("gemm", None): "triton_gemm",
    ("softmax", None): "triton_softmax",
    ("moe", None): "moe_kernel",
    ("ssm", None): "ssd_",
    ("kv_cache", None): "reshape_and_cache",
    ("rope", None): "rotary",
    ("attention", None): "flash_fwd",
    ("norm", None): "layernorm",
    ("loss", None): "nll_loss",
    ("optimizer", None): "multi_tensor_apply",
    ("grad_clip", None): "lpnorm_cleanup",
    ("fill", None): "fill_kernel",
    ("copy", None): "nchwToNhwc",
    ("pooling", None): "max_pool",
    ("sampling", None): "sampling",
    ("fft", None): "cufft",
    ("quantize", None): "quantize",
    ("embedding", None): "embedding",
    ("indexing", None): "indexing",
}
"""A word for each category and kind that the shipped patterns put there."""
_TRIES: Final = 64
_NUMBER: Final = re.compile(r"[0-9]+")
_HEAD: Final = re.compile(r"([^ :=,;(\[]+)([ :=,;(\[])?", re.DOTALL)
"""The first word of a name, as marks are sorted by."""
_CUDA_CALL: Final = re.compile(r"_{0,2}cu(?:da)?[A-Z][A-Za-z0-9]*(?:_(?:v\d{1,5}|ptsz|ptds|[A-Za-z0-9]{1,24})){0,4}")
_ABI: Final = re.compile(r"(?:_(?:ptsz|ptds))?(?:_v\d{4,5})?\Z")
_SYSTEM_CALL: Final = re.compile(r"[a-z_][a-z0-9_]{1,40}")
_LIBRARY: Final = re.compile(
    r"(?:lib[\w+-]{1,60}\.so[\w.]{0,20}|\[[\w. :-]{1,60}\]|[\w-]{1,40}\.(?:dll|exe)|ld-[\w.-]{1,40})"
)
_OWN: Final = re.compile(
    r"(?:cuda profiling|os runtime libraries|opengl|nvtx (?:early )?profiling|cupti:? |tls allocation|chunk allocation|"
    r"unknown|runtime (?:triggered )?module|lazy function|driver (?:jit )?compiler|command buffer|buffer flush|"
    r"instrumentation|resource (?:management|creation)|dlclose|dlopen\(lib(?:cuda|cupti|nv|toolsinjection)|in-process|"
    r"loading plugins|thread name service|hotkey|openacc|vulkan)[\w :/(),.+-]{0,60}",
    re.IGNORECASE,
)
_FIELD_END: Final = re.compile(r"([:,])")
_FIELDS: Final = frozenset({"mode", "padded", "actual"})
_WORDS: Final = frozenset(
    {"none", "eager", "no", "off", "false", "0", "full", "piecewise", "graph", "decode", "prefill", "mixed", "true"}
)
_XLA_ID: Final = re.compile(r"(?:program_id|unique_hlo_op_id)=-?[0-9]+")


class Names:
    """Turns names into what stays of them, by their role."""

    def __init__(self, words: PrivateWords, salt: Salt, *, hashed: bool, dispatch_prefix: str) -> None:
        """Take the words to take out, and whether names are hashed."""
        self._words, self._salt, self._hashed = words, salt, hashed
        self._prefix = dispatch_prefix
        self._categories = KernelCategories.shipped() if hashed else None

    def of_role(self, texts: Collection[str], role: Treatment) -> dict[str, str]:
        """Return what each text becomes as a name of one role."""
        if role in {Treatment.program, Treatment.module}:
            base = {text: _file_name(text) for text in texts}
            clean = self._words.scrub(base.values())
            return {text: self._one(clean[base[text]], role) for text in texts}
        kept = _STAYS[Treatment.call] if role is Treatment.call else None
        changed = self._words.scrub(text for text in texts if kept is None or not kept.fullmatch(text))
        return {text: self._one(changed.get(text, text), role) for text in texts}

    def _one(self, text: str, role: Treatment) -> str:
        if not self._hashed or not text or role is Treatment.gpu:
            return text
        kept = _STAYS.get(role)
        if kept is not None and kept.fullmatch(text):
            return text
        if role is Treatment.kernel:
            return self._kernel(text)
        if role is Treatment.call:
            suffix = _ABI.search(text)
            tail = "" if suffix is None else suffix[0]
            return self._numbered(text[: len(text) - len(tail)]) + tail
        if role is Treatment.range:
            return self._range(text)
        return self._numbered(text)

    def _numbered(self, text: str) -> str:
        """Return letters for a text with its numbers behind: names that differ in numbers alone still do."""
        if not text or text.isdecimal():
            return text
        letters = self._salt.letters(_NUMBER.sub("#", text))
        return "_".join((letters, *_NUMBER.findall(text)))

    def _kernel(self, text: str) -> str:
        """Return letters behind a word by which the kernel is put where it was."""
        assert self._categories is not None
        was = self._categories.classify(text)
        place = (None, None) if was is None else (was.category, was.kind)
        hint = _HINTS.get(place, _HINTS.get((place[0], None), place[0] or "k"))
        for number in range(_TRIES):
            name = f"{hint}_{self._salt.letters(f'{number} {text}')}"
            now = self._categories.classify(name)
            if place == ((None, None) if now is None else (now.category, now.kind)):
                return name
        return f"k_{self._salt.letters(text)}"

    def _range(self, text: str) -> str:
        if text.startswith(self._prefix):
            return self._prefix + self._dispatch(text[len(self._prefix) :])
        base = SERIALS.off(text)
        serials = text[len(base) :]
        head, mark, block = base[:-1].partition("#") if base.endswith("#") else (base, "", "")
        pairs = block.split(",") if mark else []
        if not any(_XLA_ID.fullmatch(pair) for pair in pairs):
            return self._words_of(base) + serials
        hashed = ",".join(pair if _XLA_ID.fullmatch(pair) else self._numbered(pair) for pair in pairs)
        return f"{self._words_of(head)}#{hashed}#{serials}"

    def _words_of(self, text: str) -> str:
        """Hash the first word of a name and the rest apart."""
        head = _HEAD.match(text)
        if head is None:
            return text[:1] + self._numbered(text[1:])
        return self._numbered(head[1]) + (head[2] or "") + self._numbered(text[head.end() :])

    def _dispatch(self, text: str) -> str:
        """Hash the fields of a dispatch mark: known keys, numbers and words for its mode stay."""
        parts = _FIELD_END.split(text)
        return "".join(part if at % 2 else self._of_field(part) for at, part in enumerate(parts))

    def _of_field(self, part: str) -> str:
        key, equals, value = part.partition("=")
        return self._field(key, key=bool(equals)) + equals + self._field(value, key=False)

    def _field(self, word: str, *, key: bool) -> str:
        bare = word.strip()
        stays = bare in _FIELDS if key else bare.lower() in _WORDS
        return word if stays or not bare else word.replace(bare, self._numbered(bare))


_STAYS: Final[Mapping[Treatment, re.Pattern[str]]] = {
    Treatment.call: _CUDA_CALL,
    Treatment.system: _SYSTEM_CALL,
    Treatment.own: _OWN,
    Treatment.module: _LIBRARY,
}
_PRECEDENCE: Final = (
    Treatment.call,
    Treatment.system,
    Treatment.own,
    Treatment.kernel,
    Treatment.range,
    Treatment.function,
    Treatment.thread,
    Treatment.module,
)
"""Of the roles of one string, the first decides: figures depend on the names of calls and kernels."""


def deciding(roles: Iterable[Treatment]) -> Treatment:
    """Return the role that decides what a string becomes."""
    return min(roles, key=_PRECEDENCE.index)


def is_cuda_call(text: str) -> bool:
    """Tell whether a text has the form of a call of CUDA."""
    return bool(_CUDA_CALL.fullmatch(text))


def _file_name(text: str) -> str:
    """Return the last part of a path, in the words of either system."""
    return (PureWindowsPath(text) if "\\" in text else PurePosixPath(text)).name or text
