import os
import subprocess
import sys
from pathlib import Path

COMMON = Path(__file__).parents[1] / "common"
# The parent has a secret from its start. Its child tries to read it, as the same user.
PARENT = f"""
import subprocess, sys
sys.path.insert(0, {str(COMMON)!r})
from job_secrets import stored_value, take_secrets
if sys.argv[1] == "take":
    take_secrets()
command = ["/bin/sh", "-c", "cat /proc/$PPID/environ; env"]
output = subprocess.run(command, capture_output=True).stdout
assert stored_value("DB_ROOT_PASSWORD") == b"of-the-administrator"
sys.exit(b"of-the-administrator" in output)
"""


def child_sees_secret(mode: str) -> bool:
    is_root = os.getuid() == 0  # root may read the memory of every process
    result = subprocess.run(
        ["/usr/bin/python3" if is_root else sys.executable, "-c", PARENT, mode],
        env={"DB_ROOT_PASSWORD": "of-the-administrator", "PATH": os.environ["PATH"]},
        user=65534 if is_root else None,
        cwd="/",
        stderr=subprocess.PIPE,
    )
    assert result.returncode in (0, 1), result.stderr
    assert b"Traceback" not in result.stderr, result.stderr
    return result.returncode == 1


def test_child_of_a_job_sees_its_secrets_in_no_way() -> None:
    assert child_sees_secret("keep")
    assert not child_sees_secret("take")
