"""The command `cubinet`, as `python -m cubinet` and as the script that the package installs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from cubinet._nvrtc import packaged_folders


def main() -> NoReturn:
    """Becomes the command, which finds the NVRTC of Python's packages unless CUBINET_NVRTC_DIR names another one."""
    command = Path(__file__).resolve().parent / "bin" / "cubinet"
    if not command.exists():  # in the build tree the package's files are links
        command = Path(__file__).parent / "bin" / "cubinet"
    environment = dict(os.environ)
    packaged = packaged_folders()
    if packaged and not environment.get("CUBINET_NVRTC_DIR"):
        environment["CUBINET_NVRTC_DIR"] = packaged[0]
    os.execve(command, ["cubinet", *sys.argv[1:]], environment)


if __name__ == "__main__":
    main()
