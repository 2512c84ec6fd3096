"""Files that a command writes, checked before it does its work: that may take minutes."""

from __future__ import annotations

import os
from pathlib import Path

from bayplan.cli.options import bad_option


def check_file(option: str, path: str | None) -> None:
    """Raises InvalidObject if this file cannot be written."""
    if path is None:
        return
    if os.path.isdir(path):
        raise bad_option(option, f"{path} is a directory")
    check_folder_of(option, path)


def check_folder_of(option: str, path: str) -> None:
    """Raises InvalidObject if nothing can be written beside this file."""
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise bad_option(option, f"{path}: no such directory: {Path(path).parent}")
    if not os.access(folder, os.W_OK):
        raise bad_option(option, f"{path}: directory {Path(path).parent} is not writable")
