"""Starts database_admin.py for a Job whose pod has no container for it.

A pod that an earlier release of the operator made has the administrator's login in the Job's own
environment. The Job passes it on to a process, and forgets it.
"""

import atexit
import os
import subprocess
import tempfile
from pathlib import Path

from framework_programs import program_env, script_command
from job_secrets import forget, stored_value


def start_administrator_of_earlier_pod() -> None:
    password = forget("DB_ROOT_PASSWORD")
    if not password or os.environ.get("DB_ADMIN_SOCKET"):
        return
    os.environ["DB_ADMIN_SOCKET"] = str(Path(tempfile.mkdtemp()) / "socket")
    names = ("DB_ROOT_USER", "DB_PASSWORD", "DB_ADMIN_SOCKET")
    values = {name: os.fsdecode(stored_value(name) or b"") for name in names}
    command = script_command(Path(__file__).with_name("database_admin.py"))
    env = {**program_env(), **values, "DB_ROOT_PASSWORD": os.fsdecode(password)}
    process = subprocess.Popen(command, env=env)
    atexit.register(process.kill)
