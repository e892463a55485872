"""Runs the command `cubinet`: for `python -m cubinet`, and for the script that the package installs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from cubinet._nvrtc import packaged_folders


def main() -> NoReturn:
    """Replaces this process by the command. It uses the NVRTC of Python's packages unless CUBINET_NVRTC_DIR is set."""
    command = Path(__file__).resolve().parent / "bin" / "cubinet"
    if not command.exists():  # in the build tree the package's files are symbolic links
        command = Path(__file__).parent / "bin" / "cubinet"
    environment = dict(os.environ)
    packaged = packaged_folders()
    if packaged and not environment.get("CUBINET_NVRTC_DIR"):
        environment["CUBINET_NVRTC_DIR"] = packaged[0]
    os.execve(command, ["cubinet", *sys.argv[1:]], environment)


if __name__ == "__main__":
    main()
