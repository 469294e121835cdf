"""What a workload needs, asked for before it begins: each thing that is missing is one clear line."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Any

from nsys_digest.workloads.errors import WorkloadDependency, WorkloadDevice

_CURE = "install it with: python -m pip install 'nsys-digest[workloads]'"


def need(name: str) -> Any:
    """Import an optional package and return it.

    Raises:
        WorkloadDependency: it is not installed, or cannot be imported.

    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise WorkloadDependency(f"{name}: {error}; {_CURE}") from None
        raise WorkloadDependency(f"the package {name} is not installed; {_CURE}") from None
    except (ImportError, OSError) as error:  # a library of its own is missing, or of another version
        raise WorkloadDependency(f"the package {name} cannot be imported ({error}); install it again") from None


def check_installed(*names: str) -> None:
    """See that packages are installed, without importing them.

    Raises:
        WorkloadDependency: one of them is not.

    """
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise WorkloadDependency(f"the package {name} is not installed; {_CURE}")


def need_torch() -> Any:
    """Import PyTorch and return it."""
    return need("torch")


def need_transformers() -> Any:
    """Import Hugging Face transformers and return it."""
    return need("transformers")


def need_safetensors() -> Any:
    """Import safetensors with its part for PyTorch, and return that part."""
    need("safetensors")
    return need("safetensors.torch")


def need_nvtx() -> ModuleType:
    """Import NVTX for Python and return it."""
    found: ModuleType = need("nvtx")
    return found


def need_device(name: str, *, count: int = 1) -> Any:
    """Return the ``torch.device`` called ``cuda`` or ``cpu``; with CUDA, so many GPUs must be there.

    Raises:
        WorkloadDependency: PyTorch is not installed.
        WorkloadDevice: PyTorch has no CUDA, sees no GPU, or too few.

    """
    torch = need_torch()
    if name == "cpu":
        return torch.device("cpu")
    if not torch.backends.cuda.is_built():
        raise WorkloadDevice(
            f"PyTorch {torch.__version__} is built without CUDA; install a build with it, or run with --device cpu"
        )
    if not torch.cuda.is_available():
        raise WorkloadDevice("PyTorch sees no GPU; look at nvidia-smi, or run with --device cpu")
    found = torch.cuda.device_count()
    if found < count:
        raise WorkloadDevice(f"{count} GPUs were asked for and PyTorch sees {found}; ask for fewer")
    return torch.device("cuda", 0)
