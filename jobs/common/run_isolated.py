"""Starts a script so that it imports no code from the sites volume: `run_isolated.py SCRIPT ARG...`

Started by `python -I`, which ignores PYTHON* variables and the user's site directory. The working
directory, which is `sites/` for programs of the framework, is never a place of modules: a file
`sites/frappe/__init__.py` would run with the Job's secrets. PYTHONSAFEPATH passes this on to the
Python programs that the script starts (from Python 3.11).

MODULE instead of SCRIPT: `-m frappe.utils.bench_helper ARG...`. The framework does not find the
operator's modules.
"""

import os
import runpy
import sys

OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, OWN_FOLDER)

from operator_constants import BENCH_DIR  # noqa: E402

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def is_trusted(place: str) -> bool:
    """Whether it is an absolute path outside of the sites volume."""
    sites = os.path.realpath(os.path.join(os.environ.get("BENCH_DIR") or BENCH_DIR, "sites"))
    return place.startswith("/") and not f"{os.path.realpath(place)}/".startswith(f"{sites}/")


def isolate() -> None:
    """Leaves only directories of the image in the paths of modules and of programs."""
    configured = os.environ.pop("PYTHONPATH", "").split(os.pathsep)
    places = [*configured, *sys.path] if sys.flags.isolated else [*sys.path]
    places = [place for place in places if place != OWN_FOLDER and is_trusted(place)]
    sys.path[:] = list(dict.fromkeys(places))
    if kept := [place for place in configured if is_trusted(place)]:
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)
    programs = os.environ.get("PATH", SYSTEM_PATH).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(filter(is_trusted, programs)) or SYSTEM_PATH
    os.environ["PYTHONSAFEPATH"] = "1"
    for name in ("PYTHONSTARTUP", "PYTHONHOME", "PYTHONUSERBASE", "BASH_ENV", "ENV"):
        os.environ.pop(name, None)


def main(arguments: list[str]) -> None:
    if arguments[0] == "-m":
        from database_tls import encrypt_framework
        from framework_connections import check_both_families

        isolate()
        encrypt_framework()
        check_both_families()
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        isolate()
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
