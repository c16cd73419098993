"""TEST CODE: a patch that fails before it changes anything."""


def execute():
    raise RuntimeError("patch of frappe failed")
