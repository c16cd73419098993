"""PostgreSQL, by the driver that the framework uses (psycopg2) and by pg_dump."""

from collections.abc import Iterable
from contextlib import closing
from typing import ClassVar

from database_admin_client import AccessDenied, DatabaseNotFound
from database_server import Connection, Server
from dump_filter import postgres_parts
from job_result import JobError
from operator_constants import RESTORE_FAILED
from secret_redaction import redact


class Postgres(Server):
    LIST_TABLES = (
        "SELECT c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'S')"
    )
    LIST_OTHER_CONNECTIONS = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        "AND usename = current_user AND pid <> pg_backend_pid()"
    )
    END_CONNECTION = "SELECT pg_terminate_backend(%s)"
    UPTIME = "SELECT EXTRACT(EPOCH FROM now() - pg_postmaster_start_time())"
    VERSION = "SELECT version()"
    DATA_BYTES = (
        "SELECT COALESCE(SUM(pg_table_size(c.oid)), 0) FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'public' AND c.relkind IN ('r', 'm')"
    )
    PATCH_LOG = 'SELECT patch, skipped FROM "tabPatch Log"'
    PASSWORD_VARIABLE = "PGPASSWORD"
    LOGIN = ("--host={host}", "--port={port}", "--username={user}", "--no-password")
    CLIENTS: ClassVar = {
        "dump": (
            ("pg_dump",),
            (*LOGIN, "--no-owner", "--no-acl", "--schema=public", "--encoding=UTF8", "{name}"),
        ),
    }
    KINDS: ClassVar = {"v": "VIEW", "m": "MATERIALIZED VIEW", "S": "SEQUENCE"}

    def load(self, file: Iterable[bytes]) -> None:
        """By the driver, which knows no commands, in one transaction."""
        import psycopg2

        connection = self.connect_as_user()
        connection.autocommit = False
        try:
            with connection.cursor() as cursor:
                for statements, rows in postgres_parts(file):
                    if rows is None:
                        cursor.execute(statements)
                    else:
                        cursor.copy_expert(statements, rows)
            connection.commit()
        except psycopg2.Error as error:
            raise JobError(RESTORE_FAILED, redact(" ".join(str(error).split()))) from None
        finally:
            connection.close()

    def open(self, user: str, password: str, database: str) -> Connection:
        import psycopg2

        try:
            connection = psycopg2.connect(
                host=self.settings.db_host,
                port=self.settings.db_port,
                user=user,
                password=password,
                dbname=database,
                connect_timeout=5,
                **({} if self.tls is None else self.tls.libpq()),
            )
        except psycopg2.OperationalError as error:
            text = str(error)
            denied = (
                "password authentication failed",
                "no pg_hba.conf entry",
                "permission denied",
            )
            if any(words in text for words in denied):
                raise AccessDenied(text) from None
            if "does not exist" in text:
                raise (DatabaseNotFound if "database " in text else AccessDenied)(text) from None
            raise self.connection_error(error, text) from None
        connection.autocommit = True
        return connection

    def client_env(self) -> dict[str, str]:
        return {} if self.tls is None else self.tls.libpq_env()

    def empty(self) -> None:
        with closing(self.connect_as_user()) as connection:
            # Sequences last: dropping a table drops the sequences that it owns.
            tables = sorted(
                self.query(connection, self.LIST_TABLES), key=lambda row: bool(row[1] == "S")
            )
            for name, relkind in tables:
                quoted = '"' + name.replace('"', '""') + '"'
                kind = self.KINDS.get(relkind, "TABLE")
                self.query(connection, f"DROP {kind} IF EXISTS public.{quoted} CASCADE")
