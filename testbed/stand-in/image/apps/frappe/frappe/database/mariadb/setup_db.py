"""TEST CODE: what the framework does on MariaDB as the administrator."""

import frappe
from frappe.database import check_identifier, root_connection, site_user

REDUCED = (
    "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER, CREATE TEMPORARY TABLES, CREATE VIEW, EVENT, TRIGGER, "
    "SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EXECUTE, LOCK TABLES"
)


def host_of(root):
    """The client's own address: the Job's pod, unless the caller says `%`."""
    return root.sql("SELECT USER()")[0][0].split("@")[1]


def get_root_connection(login, password):
    return root_connection(login, password, None)


def setup_database(force, host):
    name, user, password = frappe.conf.db_name, site_user(), frappe.conf.db_password
    check_identifier(name)
    check_identifier(user)
    root = get_root_connection(frappe.flags.root_login, frappe.flags.root_password)
    databases = root.sql("SHOW DATABASES", pluck=True)
    if name in databases and not force:
        raise Exception(f"Database {name} already exists")
    host = host or host_of(root)
    root.sql(f"DROP USER IF EXISTS '{user}'@%s", [host])
    root.sql(f"DROP DATABASE IF EXISTS `{name}`")
    root.sql(f"CREATE USER '{user}'@%s IDENTIFIED BY %s", [host, password])
    root.sql(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
    root.sql(f"GRANT {REDUCED if frappe.conf.rds_db else 'ALL PRIVILEGES'} ON `{name}`.* TO '{user}'@%s", [host])
    root.sql("FLUSH PRIVILEGES")
    root.close()


def drop_user_and_database(name, user, root_login, root_password):
    """The user at `%` and at this client's address; users at other pods' addresses stay, as in the framework."""
    check_identifier(name)
    root = root_connection(root_login or "root", root_password, None)
    root.sql(f"DROP DATABASE IF EXISTS `{name}`")
    for host in ("%", host_of(root)):
        root.sql(f"DROP USER IF EXISTS '{user}'@%s", [host])
    root.close()
