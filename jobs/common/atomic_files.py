"""Files that a killed process leaves either as they were or complete."""

import json
import os
from pathlib import Path
from typing import Any

from job_result import JobError
from volume_files import open_to_replace, read_bytes, read_json_value, rename


def replace_file(path: Path, text: str, mode: int) -> bool:
    """Replaces the file in one step, unless it has this content. Returns whether it wrote."""
    content = text.encode()
    try:
        if read_bytes(path) == content:
            return False
    except FileNotFoundError:
        pass
    temporary = path.with_name(f".{path.name}.app-operator")
    with open_to_replace(temporary, mode) as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    rename(temporary, path)
    return True


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file, {} if the file does not exist. A broken file is an error."""
    try:
        value = read_json_value(path)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise JobError("SiteIncomplete", f"{path} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise JobError("SiteIncomplete", f"{path} is not a JSON object")
    return value


def write_json(path: Path, value: object) -> bool:
    """Replaces the file in one step, unless it has this content. Returns whether it wrote."""
    return replace_file(path, json.dumps(value, indent=1, sort_keys=True), 0o640)


def without_nulls(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}
