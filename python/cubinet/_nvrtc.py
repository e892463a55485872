"""Finds the folders of NVRTC without importing a package. PyTorch and `cubinet[nvrtc]` install it as a package."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

# Below a folder `nvidia` on sys.path: the wheels for CUDA 13, then those for CUDA 12.
_PACKAGES = ("cu13", "cuda_nvrtc")


def packaged_folders() -> list[str]:
    """The folders of NVIDIA's NVRTC wheels, the newest CUDA first."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):  # `nvidia` is a module and not a package
        return []
    roots = list(spec.submodule_search_locations or []) if spec is not None else []
    folders = [Path(root) / package / "lib" for package in _PACKAGES for root in roots]
    return [str(folder) for folder in folders if any(folder.glob("libnvrtc.so.*"))]


def folders() -> list[str]:
    """The folders to search, in order: CUBINET_NVRTC_DIR, those of the packages, CUDA_HOME."""
    before, after = os.environ.get("CUBINET_NVRTC_DIR"), os.environ.get("CUDA_HOME")
    return [*([before] if before else []), *packaged_folders(), *([after] if after else [])]
