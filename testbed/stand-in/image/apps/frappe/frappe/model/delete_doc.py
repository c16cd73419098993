"""TEST CODE: deletes a document with its rows and its passwords."""

import frappe
from frappe.utils.password import delete_all_passwords_for


def delete_doc(doctype, name, force=False):
    if not force:
        raise NotImplementedError("whether other documents link to this one is not looked for")
    if not frappe.db.exists(doctype, name):
        return False
    delete_all_passwords_for(doctype, name)
    doc = frappe.get_doc(doctype, name)
    doc.on_trash()
    frappe.db.delete(doctype, name=name)
    for field in doc.meta.get_table_fields():
        frappe.db.delete(field.options, parenttype=doctype, parent=name)
    doc.after_delete()
    frappe.clear_document_cache(doctype, name)
