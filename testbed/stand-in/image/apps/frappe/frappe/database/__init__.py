"""TEST CODE: the two database servers, by the drivers of the framework, and the programs that feed and dump them."""

import re
import sys
from shutil import which

import frappe


def get_db(user, password, cur_db_name=None):
    return (Postgres if frappe.conf.db_type == "postgres" else MariaDB)(user, password, cur_db_name)


def site_user():
    """version-15 knows no db_user: it connects as a user that is named like the database."""
    return frappe.conf.db_user or frappe.conf.db_name if frappe.VERSION >= (16, 0) else frappe.conf.db_name


def quote(name):
    return "`" + name.replace("`", "") + "`"


class Database:
    """One connection, opened at the first statement, in a transaction until commit() or rollback()."""

    def __init__(self, user, password, name):
        self.user, self.password, self.name = user, password, name
        self.connection = None
        self.read_only = False
        self.after_commit = []
        self.value_cache = {}

    def sql(self, statement, values=None, pluck=False):
        """Rows as tuples, or the first column. Back quotes name things on both servers."""
        if self.connection is None:
            self.connection = self.open()
            if self.read_only:
                self.begin_read_only()
        with self.connection.cursor() as cursor:
            cursor.execute(self.translated(statement), values or None)
            rows = list(cursor.fetchall()) if cursor.description else []
        return [row[0] for row in rows] if pluck else rows

    def translated(self, statement):
        return statement

    def begin(self, read_only=False):
        self.read_only = read_only

    def commit(self):
        if self.connection:
            self.connection.commit()
        callbacks, self.after_commit = self.after_commit, []
        for callback in callbacks:
            callback()

    def rollback(self):
        self.after_commit = []
        if self.connection:
            self.connection.rollback()

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    # --- rows by name

    def select(self, doctype, fields, where=None, order_by=None, limit=None):
        conditions = " AND ".join(f"{quote(field)} = %s" for field in where or {})
        statement = f"SELECT {', '.join(quote(field) for field in fields)} FROM {quote('tab' + doctype)}"
        statement += f" WHERE {conditions}" if conditions else ""
        statement += f" ORDER BY {order_by}" if order_by else ""
        statement += f" LIMIT {int(limit)}" if limit else ""
        rows = self.sql(statement, list((where or {}).values()))
        return [frappe._dict(zip(fields, row, strict=True)) for row in rows]

    def get_value(self, doctype, name, field, cache=False):
        """With `cache` the first answer is kept for the connection's life, whatever is written later."""
        if cache and (doctype, name, field) in self.value_cache:
            return self.value_cache[doctype, name, field]
        rows = self.select(doctype, [field], {"name": name}, limit=1)
        value = rows[0][field] if rows else None
        if cache:
            self.value_cache[doctype, name, field] = value
        return value

    def exists(self, doctype, name):
        return self.get_value(doctype, name, "name")

    def insert(self, doctype, **row):
        columns = ", ".join(quote(column) for column in row)
        marks = ", ".join(["%s"] * len(row))
        self.sql(f"INSERT INTO {quote('tab' + doctype)} ({columns}) VALUES ({marks})", list(row.values()))

    def has_column(self, doctype, column):
        return column in self.get_columns(f"tab{doctype}")

    def set_value(self, doctype, name, field=None, value=None, **row):
        """`name`: also a mapping, `{column: value}`."""
        row |= {field: value} if field else {}
        if isinstance(name, dict):
            (column, wanted), = name.items()
            for found in self.sql(f"SELECT `name` FROM {quote('tab' + doctype)} WHERE {quote(column)} = %s", [wanted], pluck=True):
                self.set_value(doctype, found, **row)
            return
        columns = ", ".join(f"{quote(column)} = %s" for column in row)
        self.sql(f"UPDATE {quote('tab' + doctype)} SET {columns} WHERE `name` = %s", [*row.values(), name])

    def delete(self, doctype, **where):
        conditions = " AND ".join(f"{quote(column)} = %s" for column in where)
        self.sql(f"DELETE FROM {quote('tab' + doctype)} WHERE {conditions}", list(where.values()))

    def get_default(self, key):
        rows = self.sql("SELECT `defvalue` FROM `tabDefaultValue` WHERE `defkey` = %s", [key])
        return rows[0][0] if rows else None

    def set_default(self, key, value):
        self.sql("DELETE FROM `tabDefaultValue` WHERE `defkey` = %s", [key])
        self.insert("DefaultValue", name=frappe.generate_hash(10), parent="__global", defkey=key, defvalue=value)

    def get_single_value(self, doctype, field):
        rows = self.sql("SELECT `value` FROM `tabSingles` WHERE `doctype` = %s AND `field` = %s", [doctype, field])
        return rows[0][0] if rows else None

    def set_single_value(self, doctype, field, value):
        self.sql("DELETE FROM `tabSingles` WHERE `doctype` = %s AND `field` = %s", [doctype, field])
        self.sql("INSERT INTO `tabSingles` (`doctype`, `field`, `value`) VALUES (%s, %s, %s)", [doctype, field, str(value)])


class MariaDB(Database):
    TYPES = {"Data": "varchar(140)", "Text": "longtext", "Check": "tinyint NOT NULL DEFAULT 0", "Int": "bigint", "Datetime": "datetime(6)", "Date": "date", "Float": "decimal(21,9) NOT NULL DEFAULT 0"}  # fmt: skip

    def open(self):
        import pymysql

        return pymysql.connect(
            host=frappe.conf.db_host, port=int(frappe.conf.db_port), user=self.user, password=self.password,
            database=self.name, charset="utf8mb4", connect_timeout=5,
        )  # fmt: skip

    def begin_read_only(self):
        self.connection.query("START TRANSACTION READ ONLY")

    @staticmethod
    def is_read_only_error(error):
        return error.args[:1] == (1792,)

    @staticmethod
    def is_duplicate_entry(error):
        return error.args[:1] == (1062,)

    def get_tables(self):
        return self.sql("SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()", pluck=True)

    def get_columns(self, table):
        return self.sql(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s",
            [table], pluck=True,
        )  # fmt: skip

    def rename_column(self, table, old, new, kind):
        self.sql(f"ALTER TABLE {quote(table)} CHANGE {quote(old)} {quote(new)} {self.TYPES[kind]}")


class Postgres(Database):
    TYPES = {"Data": "varchar(140)", "Text": "text", "Check": "smallint NOT NULL DEFAULT 0", "Int": "bigint", "Datetime": "timestamp", "Date": "date", "Float": "decimal(21,9) NOT NULL DEFAULT 0"}  # fmt: skip

    def open(self):
        import psycopg2

        return psycopg2.connect(
            host=frappe.conf.db_host, port=frappe.conf.db_port, user=self.user, password=self.password,
            dbname=self.name, connect_timeout=5,
        )  # fmt: skip

    def translated(self, statement):
        return statement.replace("`", '"')

    def begin_read_only(self):
        self.connection.set_session(readonly=True)

    @staticmethod
    def is_read_only_error(error):
        return getattr(error, "pgcode", None) == "25006"

    @staticmethod
    def is_duplicate_entry(error):
        return getattr(error, "pgcode", None) == "23505"

    def get_tables(self):
        return self.sql("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'", pluck=True)

    def get_columns(self, table):
        return self.sql(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s",
            [table], pluck=True,
        )  # fmt: skip

    def rename_column(self, table, old, new, kind):
        self.sql(f"ALTER TABLE {quote(table)} RENAME COLUMN {quote(old)} TO {quote(new)}")


# --- the server's own programs ---------------------------------------------------------------------------------------


def get_command(host=None, port=None, user=None, password=None, db_name=None, extra=None, dump=False):
    """Program, arguments and name of the client or the dumper; the password is an argument, as in the framework."""
    extra = list(extra or [])
    if frappe.conf.db_type == "postgres":
        name = "pg_dump" if dump else "psql"
        login = f"{user}:{password}" if password else user
        return which(name), [f"postgresql://{login}@{host}:{port}/{db_name}", *extra], name
    name = "mariadb-dump" if dump else "mariadb"
    arguments = [f"--user={user}", f"--host={host}", f"--port={port}", *([f"--password={password}"] if password else [])]
    arguments += ["--single-transaction", "--quick", "--lock-tables=false"] if dump else ["--safe-updates", "--no-auto-rehash"]
    return which(name), [*arguments, db_name, *extra], name


def feed(source=None, text=None):
    """Gives SQL, of a file (plain or gzip) or a text, to the client program as the site's user."""
    import shlex

    from frappe.utils import execute_in_shell

    program, arguments, name = get_command(
        host=frappe.conf.db_host, port=frappe.conf.db_port, user=site_user(),
        password=frappe.conf.db_password, db_name=frappe.conf.db_name,
    )  # fmt: skip
    if not program:
        frappe.throw(f"{name} not found in PATH! This is required to restore the database.")
    client = shlex.join([program, *arguments])
    if source is None:
        execute_in_shell(client, input=text.encode())
        return
    reader = shlex.join(["gzip", "-cd", source] if source.endswith(".gz") else ["cat", source])
    # Newer dumps begin with a line that older clients do not know.
    execute_in_shell(rf"set -o pipefail; {reader} | sed '/999999.*enable the sandbox mode/d' | {client}")


def setup_database(force, no_mariadb_socket=False, user_host=None):
    from frappe.database import mariadb, postgres

    if frappe.conf.db_type == "postgres":
        postgres.setup_database()
    else:
        mariadb.setup_database(force, user_host or ("%" if no_mariadb_socket else None))


def bootstrap_database(source_sql=None):
    from frappe.schema import bootstrap_sql
    from frappe.tests import faults

    if source_sql:
        feed(source=source_sql)
    elif not faults.pauses():
        feed(text=bootstrap_sql())
    frappe.connect(db_name=frappe.conf.db_name)
    if faults.pauses() and not source_sql:
        for statement in bootstrap_sql().split(";\n"):
            if statement:
                frappe.db.sql(statement)
                frappe.db.commit()
                faults.pause()
    if "tabDefaultValue" not in frappe.db.get_tables():
        print("Table 'tabDefaultValue' missing in the restored site. Database not installed correctly.")
        sys.exit(1)


def drop_user_and_database(db_name, user, root_login, root_password):
    from frappe.database import mariadb, postgres

    server = postgres if frappe.conf.db_type == "postgres" else mariadb
    server.drop_user_and_database(db_name, user, root_login, root_password)


def root_connection(login, password, name):
    """As the administrator; without a password it prompts, and a Job cannot answer."""
    import getpass

    if not password:
        password = frappe.conf.root_password or getpass.getpass("root password: ")
    return get_db(user=login, password=password, cur_db_name=name)


def check_identifier(name):
    if not re.fullmatch(r"[A-Za-z0-9_]+", name):
        raise frappe.ValidationError(f"the database name {name!r} cannot be used")
