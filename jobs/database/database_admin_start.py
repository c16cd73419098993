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
from job_secrets import forget, variable


def start_administrator_of_earlier_pod() -> None:
    password = forget("DB_ROOT_PASSWORD")
    if not password or os.environ.get("DB_ADMIN_SOCKET"):
        return
    os.environ["DB_ADMIN_SOCKET"] = str(Path(tempfile.mkdtemp()) / "socket")
    names = ("DB_ROOT_USER", "DB_PASSWORD", "DB_ADMIN_SOCKET")
    env = {**program_env(), **{name: variable(name) for name in names}}
    command = script_command(Path(__file__).with_name("database_admin.py"))
    process = subprocess.Popen(command, env={**env, "DB_ROOT_PASSWORD": password})
    atexit.register(process.kill)
