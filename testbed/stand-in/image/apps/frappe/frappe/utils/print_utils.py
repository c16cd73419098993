"""TEST CODE: where Chromium is. Version-15 has no such module."""

import os

import frappe

if frappe.VERSION < (16, 0):
    raise ImportError(f"version {frappe.__version__} does not print with Chromium")


def find_or_download_chromium_executable():
    path = frappe.conf.chromium_path
    return path if path and os.path.exists(path) else download_chromium()


def download_chromium():
    frappe.throw("a download of Chromium")
