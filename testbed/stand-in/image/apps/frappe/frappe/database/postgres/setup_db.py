"""TEST CODE: what the framework does on PostgreSQL as the administrator; a setup always drops the existing database."""

import frappe
from frappe.database import check_identifier, root_connection, site_user


def get_root_connection(login, password):
    root = root_connection(login, password, login)
    root.sql("SELECT 1")
    root.commit()
    root.connection.autocommit = True
    return root


def setup_database():
    name, user, password = frappe.conf.db_name, site_user(), frappe.conf.db_password
    check_identifier(name)
    check_identifier(user)
    root = get_root_connection(frappe.flags.root_login, frappe.flags.root_password)
    root.sql(f"DROP DATABASE IF EXISTS `{name}`")
    known = root.sql("SELECT 1 FROM pg_roles WHERE rolname = %s", [user])
    root.sql(f"{'ALTER' if known else 'CREATE'} USER `{user}` WITH PASSWORD %s", [password])
    root.sql(f"CREATE DATABASE `{name}`")
    root.sql(f"GRANT ALL PRIVILEGES ON DATABASE `{name}` TO `{user}`")
    root.sql(f"ALTER DATABASE `{name}` OWNER TO `{user}`")
    root.close()


def drop_user_and_database(name, user, root_login, root_password):
    check_identifier(name)
    root = get_root_connection(root_login or "postgres", root_password)
    root.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
    # Unquoted, as in the framework: names with capitals are not found.
    root.sql(f"DROP DATABASE IF EXISTS {name}")
    root.sql(f"DROP USER IF EXISTS {user}")
    root.close()
