"""TEST CODE."""


def get_assets_json():
    """The cache's list of bundles, which processes of another image may have written."""
    return {"desk.bundle.js": "/assets/frappe/dist/desk.bundle.OLD.js"}
