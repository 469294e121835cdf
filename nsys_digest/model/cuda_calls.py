"""Names of CUDA API calls, and what kind of call each is.

The names are those of the CUDA Runtime API and the CUDA Driver API reference manuals (docs.nvidia.com/cuda), which
nsys records with an ABI version behind them. A call is known by its whole name, never by how it begins.
"""

from __future__ import annotations

import re
from collections.abc import Set
from enum import StrEnum
from functools import cache
from typing import Final

_ABI_SUFFIX = re.compile(r"_v\d{4,5}$")
_REVISION = re.compile(r"_v\d$")
_STREAM_SUFFIX = re.compile(r"_(ptsz|ptds)$")


class CallClass(StrEnum):
    """What a thread does in a call."""

    launch = "launch_call"
    """Submits GPU work and returns."""
    sync = "sync"
    """Waits for the GPU, also to copy."""
    memory = "memory_call"
    """Allocates, frees, registers or maps memory."""
    module = "module_call"
    """Loads, links or looks up code."""
    other = "other_call"
    """Anything else of CUDA."""


GRAPH_LAUNCH_CALLS: Final = frozenset({"cudaGraphLaunch", "cuGraphLaunch"})
KERNEL_LAUNCH_CALLS: Final = frozenset(
    """
    cudaLaunch cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel
    cudaLaunchCooperativeKernelMultiDevice cuLaunch cuLaunchGrid cuLaunchGridAsync cuLaunchKernel cuLaunchKernelEx
    cuLaunchCooperativeKernel cuLaunchCooperativeKernelMultiDevice
    """.split()
)
_ASYNC_COPIES: Final = frozenset(
    """
    cudaMemcpyAsync cudaMemcpy2DAsync cudaMemcpy3DAsync cudaMemcpy3DPeerAsync cudaMemcpyPeerAsync
    cudaMemcpyBatchAsync cudaMemcpy3DBatchAsync cudaMemcpyToSymbolAsync cudaMemcpyFromSymbolAsync
    cudaMemcpyToArrayAsync cudaMemcpyFromArrayAsync cudaMemcpy2DToArrayAsync cudaMemcpy2DFromArrayAsync
    cudaMemsetAsync cudaMemset2DAsync cudaMemset3DAsync cudaMemPrefetchAsync cudaMemPrefetchBatchAsync cuMemcpyAsync
    cuMemcpyPeerAsync cuMemcpyBatchAsync cuMemcpy3DBatchAsync cuMemcpyHtoDAsync cuMemcpyDtoHAsync cuMemcpyDtoDAsync
    cuMemcpyHtoAAsync cuMemcpyAtoHAsync cuMemcpy2DAsync cuMemcpy3DAsync cuMemcpy3DPeerAsync cuMemsetD8Async
    cuMemsetD16Async cuMemsetD32Async cuMemsetD2D8Async cuMemsetD2D16Async cuMemsetD2D32Async cuMemPrefetchAsync
    cuMemPrefetchBatchAsync
    """.split()
)
CONTEXT_WAIT_CALLS: Final = frozenset({"cudaDeviceSynchronize", "cudaThreadSynchronize", "cuCtxSynchronize"})
STREAM_WAIT_CALLS: Final = frozenset({"cudaStreamSynchronize", "cuStreamSynchronize"})
EVENT_WAIT_CALLS: Final = frozenset({"cudaEventSynchronize", "cuEventSynchronize"})
_WAITS: Final = CONTEXT_WAIT_CALLS | STREAM_WAIT_CALLS | EVENT_WAIT_CALLS
_BLOCKING_COPIES: Final = frozenset(
    """
    cudaMemcpy cudaMemcpy2D cudaMemcpy3D cudaMemcpyPeer cudaMemcpy3DPeer cudaMemcpyToSymbol cudaMemcpyFromSymbol
    cudaMemcpyToArray cudaMemcpyFromArray cudaMemcpyArrayToArray cudaMemcpy2DToArray cudaMemcpy2DFromArray
    cudaMemcpy2DArrayToArray cudaMemset cudaMemset2D cudaMemset3D cuMemcpy cuMemcpyPeer cuMemcpyHtoD cuMemcpyDtoH
    cuMemcpyDtoD cuMemcpyDtoA cuMemcpyAtoD cuMemcpyHtoA cuMemcpyAtoH cuMemcpyAtoA cuMemcpy2D cuMemcpy2DUnaligned
    cuMemcpy3D cuMemcpy3DPeer cuMemsetD8 cuMemsetD16 cuMemsetD32 cuMemsetD2D8 cuMemsetD2D16 cuMemsetD2D32
    """.split()
)
_MOVES: Final = _ASYNC_COPIES | _BLOCKING_COPIES
SET_CALLS: Final = frozenset(name for name in _MOVES if "Memset" in name)
COPY_CALLS: Final = frozenset(name for name in _MOVES if "Memcpy" in name)
"""Not prefetches, whose work is page migrations that no correlation id ties to the call."""
CAPTURE_BEGIN_CALLS: Final = frozenset(
    {"cudaStreamBeginCapture", "cudaStreamBeginCaptureToGraph", "cuStreamBeginCapture", "cuStreamBeginCaptureToGraph"}
)
CAPTURE_END_CALLS: Final = frozenset({"cudaStreamEndCapture", "cuStreamEndCapture"})
_MEMORY: Final = frozenset(
    """
    cudaMalloc cudaMallocHost cudaMallocManaged cudaMallocPitch cudaMallocArray cudaMalloc3D cudaMalloc3DArray
    cudaMallocMipmappedArray cudaMallocAsync cudaMallocFromPoolAsync cudaHostAlloc cudaHostRegister
    cudaHostUnregister cudaHostGetDevicePointer cudaHostGetFlags cudaFree cudaFreeHost cudaFreeArray
    cudaFreeMipmappedArray cudaFreeAsync cudaMemPoolCreate cudaMemPoolDestroy cudaMemPoolTrimTo
    cudaMemPoolSetAttribute cudaMemPoolGetAttribute cudaMemPoolSetAccess cudaMemPoolGetAccess
    cudaMemPoolExportToShareableHandle cudaMemPoolImportFromShareableHandle cudaMemPoolExportPointer
    cudaMemPoolImportPointer cudaDeviceGetDefaultMemPool cudaDeviceSetMemPool cudaDeviceGetMemPool
    cudaMemGetDefaultMemPool cudaMemGetMemPool cudaMemSetMemPool cudaMemGetInfo cudaMemAdvise
    cudaMemDiscardBatchAsync cudaMemRangeGetAttribute cudaMemRangeGetAttributes cudaPointerGetAttributes
    cudaIpcGetMemHandle cudaIpcOpenMemHandle cudaIpcCloseMemHandle cudaImportExternalMemory
    cudaExternalMemoryGetMappedBuffer cudaExternalMemoryGetMappedMipmappedArray cudaDestroyExternalMemory
    cudaGraphicsGLRegisterBuffer cudaGraphicsGLRegisterImage cudaGraphicsUnregisterResource
    cudaGraphicsMapResources cudaGraphicsUnmapResources cudaDeviceGraphMemTrim cuMemAlloc cuMemAllocHost
    cuMemAllocManaged cuMemAllocPitch cuMemAllocAsync cuMemAllocFromPoolAsync cuMemHostAlloc cuMemHostRegister
    cuMemHostUnregister cuMemHostGetDevicePointer cuMemHostGetFlags cuMemFree cuMemFreeHost cuMemFreeAsync
    cuMemAddressReserve cuMemAddressFree cuMemCreate cuMemRelease cuMemMap cuMemMapArrayAsync cuMemUnmap
    cuMemSetAccess cuMemGetAccess cuMemExportToShareableHandle cuMemImportFromShareableHandle
    cuMemGetAllocationGranularity cuMemGetAllocationPropertiesFromHandle cuMemRetainAllocationHandle
    cuMemGetAddressRange cuMemGetHandleForAddressRange cuMemGetInfo cuMemAdvise cuMemRangeGetAttribute
    cuMemRangeGetAttributes cuPointerGetAttribute cuPointerGetAttributes cuPointerSetAttribute cuMemPoolCreate
    cuMemPoolDestroy cuMemPoolTrimTo cuMemPoolSetAttribute cuMemPoolGetAttribute cuMemPoolSetAccess
    cuMemPoolGetAccess cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle cuMemPoolExportPointer
    cuMemPoolImportPointer cuDeviceGetDefaultMemPool cuDeviceSetMemPool cuDeviceGetMemPool cuMemGetDefaultMemPool
    cuMemGetMemPool cuMemSetMemPool cuIpcGetMemHandle cuIpcOpenMemHandle cuIpcCloseMemHandle cuImportExternalMemory
    cuExternalMemoryGetMappedBuffer cuExternalMemoryGetMappedMipmappedArray cuDestroyExternalMemory
    cuMulticastCreate cuMulticastAddDevice cuMulticastBindMem cuMulticastBindAddr cuMulticastUnbind
    cuMulticastGetGranularity cuArrayCreate cuArray3DCreate cuArrayDestroy cuMipmappedArrayCreate
    cuMipmappedArrayDestroy cuGraphicsGLRegisterBuffer cuGraphicsGLRegisterImage cuGraphicsUnregisterResource
    cuGraphicsMapResources cuGraphicsUnmapResources cuDeviceGraphMemTrim
    """.split()
)
_MODULE: Final = frozenset(
    """
    cudaFuncGetAttributes cudaFuncSetAttribute cudaFuncSetCacheConfig cudaFuncSetSharedMemConfig cudaFuncGetName
    cudaFuncGetParamInfo
    cudaGetFuncBySymbol cudaGetKernel cudaGetSymbolAddress cudaGetSymbolSize cudaLibraryLoadData
    cudaLibraryLoadFromFile cudaLibraryUnload cudaLibraryGetKernel cudaLibraryGetGlobal cudaLibraryGetManaged
    cudaLibraryGetUnifiedFunction cudaLibraryGetKernelCount cudaLibraryEnumerateKernels
    cudaKernelSetAttributeForDevice cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion __cudaRegisterFatBinary
    __cudaRegisterFatBinaryEnd __cudaUnregisterFatBinary __cudaRegisterFunction __cudaRegisterVar cuModuleLoad
    cuModuleLoadData cuModuleLoadDataEx cuModuleLoadFatBinary cuModuleUnload cuModuleGetFunction
    cuModuleGetFunctionCount cuModuleEnumerateFunctions cuModuleGetGlobal cuModuleGetTexRef cuModuleGetSurfRef
    cuModuleGetLoadingMode cuLibraryLoadData cuLibraryLoadFromFile cuLibraryUnload cuLibraryGetKernel
    cuLibraryGetKernelCount cuLibraryEnumerateKernels cuLibraryGetModule cuLibraryGetGlobal cuLibraryGetManaged
    cuLibraryGetUnifiedFunction cuKernelGetFunction cuKernelGetLibrary cuKernelGetAttribute cuKernelSetAttribute
    cuKernelSetCacheConfig cuKernelGetName cuKernelGetParamInfo cuFuncGetAttribute cuFuncSetAttribute
    cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuFuncGetModule cuFuncGetName cuFuncGetParamInfo cuFuncIsLoaded
    cuFuncLoad cuLinkCreate cuLinkAddData cuLinkAddFile cuLinkComplete cuLinkDestroy cuGetProcAddress
    cuGetExportTable
    """.split()
)

_CLASSES: Final[dict[str, CallClass]] = {
    **dict.fromkeys(GRAPH_LAUNCH_CALLS | KERNEL_LAUNCH_CALLS | _ASYNC_COPIES, CallClass.launch),
    **dict.fromkeys(_WAITS | _BLOCKING_COPIES, CallClass.sync),
    **dict.fromkeys(_MEMORY, CallClass.memory),
    **dict.fromkeys(_MODULE, CallClass.module),
}


def call_name(recorded: str) -> str:
    """Return the API function without its ABI version and per-thread-stream suffix.

    ``cudaLaunchKernel_ptsz_v7000`` gives ``cudaLaunchKernel``; revisions such as ``cuGetProcAddress_v2`` stay.
    """
    return _STREAM_SUFFIX.sub("", _ABI_SUFFIX.sub("", recorded))


@cache
def call_class(recorded: str) -> CallClass:
    """Return what kind of call a recorded name is; one that is in no table is ``other``."""
    name = call_name(recorded)
    # cuMemAlloc_v2 and cuMemcpyHtoDAsync_v2 are what programs of today call; the first form is long gone.
    return _CLASSES.get(name) or _CLASSES.get(_REVISION.sub("", name), CallClass.other)


def is_one_of(recorded: str, names: Set[str]) -> bool:
    """Tell whether a recorded name is a call of one of those names, in any revision."""
    name = call_name(recorded)
    return name in names or _REVISION.sub("", name) in names
