"""Numba's helpers of arrays, loaded rather than compiled in every process.

Compiled functions that make arrays call a few helpers, which numba compiles anew in each process:
LLVM's optimiser and code generator are loaded for them alone, some 20 MB. Here their machine code
is kept beside that of the functions, under the versions and the processor it was made for.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numba
from llvmlite.binding import llvm_version_info  # type: ignore[import-untyped]
from numba.core.runtime import nrtdynmod
from numba.core.runtime.nrt import rtsys

_PARTS = {nrtdynmod: "compile_nrt_functions", rtsys: "_init"}
_AS_KNOWN = all(hasattr(owner, name) for owner, name in _PARTS.items())
"""Whether numba has the inner parts that are used here; if not, it does as it always does."""
_HEAD = struct.Struct("<QQI")


def load_array_helpers(folder: str, context: Any) -> None:
    """Make the helpers ready: from the folder if they are there, else compile and keep them."""
    if not _AS_KNOWN or rtsys._init:
        rtsys.initialize(context)
        return
    compile_all = nrtdynmod.compile_nrt_functions
    nrtdynmod.compile_nrt_functions = partial(_helpers, Path(folder), compile_all)
    try:
        rtsys.initialize(context)
    finally:
        nrtdynmod.compile_nrt_functions = compile_all


def _helpers(folder: Path, compile_all: Any, context: Any) -> Any:
    """Return the library of helpers."""
    codegen = context.codegen()
    made_for = (numba.__version__, llvm_version_info, *codegen.magic_tuple())
    path = folder / f"helpers-{zlib.crc32(repr(made_for).encode()):08x}.bin"
    kept = _read(path)
    if kept is not None:
        return codegen.unserialize_library(("nrt", "object", kept))
    create = codegen.create_library

    def created(name: str, **options: Any) -> Any:
        library = create(name, **options)
        library.enable_object_caching()
        return library

    codegen.create_library = created
    try:
        library = compile_all(context)
    finally:
        del codegen.create_library
    with suppress(OSError):  # no place to keep it
        _write(path, *library.serialize_using_object_code()[2])
    return library


def _read(path: Path) -> tuple[bytes, bytes] | None:
    """Return machine code and its description; None where they are not there in full."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if len(data) < _HEAD.size:
        return None
    first, second, mark = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    if len(body) != first + second or zlib.crc32(body) != mark:
        return None
    return body[:first], body[first:]


def _write(path: Path, code: bytes, description: bytes) -> None:
    """Write machine code in full or not at all: other processes may be reading."""
    body = code + description
    part = path.with_suffix(f".{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(_HEAD.pack(len(code), len(description), zlib.crc32(body)) + body)
    part.replace(path)
