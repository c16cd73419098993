"""Puts print_program.py in front of the programs that print PDFs, in this process.

The framework finds wkhtmltopdf in PATH, and Chromium (from version-16 on) by a function of its own.
Where the image has no such program, a user gets a message that says so.
"""

import importlib
import os
import shlex
import shutil
import sys
import tempfile
from typing import Any

WKHTMLTOPDF = "wkhtmltopdf"
RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "print_program.py")


class PrintPrograms:
    """Scripts in a temporary folder, each of which starts one program by print_program.py."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="app-operator-print-")

    def in_front_of(self, program: str) -> str:
        path = os.path.join(self.folder, os.path.basename(program))
        if os.path.dirname(program) != self.folder and not os.path.exists(path):
            command = shlex.join([sys.executable, "-I", RUNNER, program])
            number, new = tempfile.mkstemp(dir=self.folder)
            with open(number, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\nexec {command} "$@"\n')
            os.chmod(new, 0o755)
            os.replace(new, path)
        return path


def patch_print_programs() -> None:
    programs = PrintPrograms() if os.environ.get("NGINX_HOST") else None
    wkhtmltopdf = shutil.which(WKHTMLTOPDF)
    if wkhtmltopdf is None:
        refuse("pdfkit", "from_string", f"no {WKHTMLTOPDF}")
    elif programs is not None:
        programs.in_front_of(wkhtmltopdf)
        os.environ["PATH"] = f"{programs.folder}:{os.environ['PATH']}"
    # Without Chromium it would download one into the image, which is read-only.
    refuse("frappe.utils.print_utils", "download_chromium", "no Chromium")
    if programs is not None:
        use_for_chromium(programs)


def use_for_chromium(programs: PrintPrograms) -> None:
    utils = module_with("frappe.utils.print_utils", "find_or_download_chromium_executable")
    if utils is None:
        return
    find = utils.find_or_download_chromium_executable

    def find_program() -> str:
        return programs.in_front_of(find())

    utils.find_or_download_chromium_executable = find_program


def refuse(module: str, function: str, missing: str) -> None:
    """Makes a function tell the user what the image lacks."""

    def tell(*args: Any, **kwargs: Any) -> Any:
        import frappe

        frappe.throw(f"This PDF cannot be made: the bench's image has {missing}.")

    if (loaded := module_with(module, function)) is not None:
        setattr(loaded, function, tell)


def module_with(module: str, function: str) -> Any:
    """None where the framework's version has no such function."""
    try:
        loaded = importlib.import_module(module)
    except ImportError:
        return None
    return loaded if hasattr(loaded, function) else None
