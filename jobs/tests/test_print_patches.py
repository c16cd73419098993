"""Messages for programs that the image lacks."""

import sys
import tempfile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import print_patches


@pytest.fixture
def framework(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The functions of the framework that are replaced, as version-16 has them."""

    def throw(message: str) -> None:
        raise ValueError(message)

    def module(name: str, **members: Any) -> ModuleType:
        new = ModuleType(name)
        new.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, new)
        return new

    module("frappe", throw=throw)
    module("frappe.utils")
    find = {"find_or_download_chromium_executable": lambda: "/usr/bin/chromium"}
    return SimpleNamespace(
        pdfkit=module("pdfkit", from_string=lambda: "pdf"),
        utils=module("frappe.utils.print_utils", download_chromium=lambda: None, **find),
    )


def test_refuses_what_the_image_lacks(
    monkeypatch: pytest.MonkeyPatch, framework: SimpleNamespace
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    print_patches.patch_print_programs()
    with pytest.raises(ValueError, match=r"the bench's image has no wkhtmltopdf\.$"):
        framework.pdfkit.from_string("<p>", False, options={})
    with pytest.raises(ValueError, match=r"the bench's image has no Chromium\.$"):
        framework.utils.download_chromium()


def test_leaves_programs_without_an_address_of_nginx(framework: SimpleNamespace) -> None:
    print_patches.patch_print_programs()
    assert framework.utils.find_or_download_chromium_executable() == "/usr/bin/chromium"


def test_is_silent_on_a_version_without_the_functions(
    monkeypatch: pytest.MonkeyPatch, framework: SimpleNamespace, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setitem(sys.modules, "frappe.utils.print_utils", None)
    monkeypatch.setitem(sys.modules, "pdfkit", None)
    monkeypatch.setenv("NGINX_HOST", "nginx")
    print_patches.patch_print_programs()
