"""TEST CODE: what the framework does as the administrator; the real one has it in this package too."""

from frappe.database.mariadb.setup_db import drop_user_and_database, setup_database

__all__ = ["drop_user_and_database", "setup_database"]
