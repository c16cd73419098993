"""TEST CODE: the class of a doctype's documents: that of its folder, if there is one."""

import importlib
import importlib.util

import frappe


def get_controller(doctype):
    from frappe.model.document import Document

    folder = frappe.get_meta(doctype).folder.replace("/", ".")
    module = f"{folder}.{frappe.scrub(doctype)}"
    if importlib.util.find_spec(module) is None:
        return Document
    return getattr(importlib.import_module(module), doctype.replace(" ", ""))
