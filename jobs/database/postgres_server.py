"""PostgreSQL, by the driver that the framework uses (psycopg2) and by pg_dump."""

import re
import shutil
import subprocess
from contextlib import closing
from io import BufferedIOBase
from typing import ClassVar

from database_admin_client import AccessDenied, DatabaseNotFound
from database_server import Connection, Server
from dump_facts import DumpFacts
from framework_programs import program_env
from job_result import JobError, log
from postgres_dump import Dump
from postgres_inspection import Inspection
from postgres_load import Load
from postgres_objects import (
    DEFAULT_RIGHTS,
    DROP_LARGE_OBJECTS,
    DROPPED_AS,
    OTHER_LARGE_OBJECTS,
    OTHER_TABLES,
    OWN_OBJECTS,
    excluding,
    names_of,
)

VERSION_NUMBER = re.compile(r"PostgreSQL\)? ((\d+)[\w.]*)")


class Postgres(Server):
    LIST_TABLES = (
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S') AND (n.nspname = 'public' OR "
        "c.oid >= 16384 AND pg_has_role(c.relowner, 'USAGE') AND n.nspname !~ '^pg_')"
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
        "WHERE c.oid >= 16384 AND c.relkind IN ('r', 'm')"
    )
    PATCH_LOG = 'SELECT patch, skipped FROM "tabPatch Log"'
    APP_VERSIONS = 'SELECT app_name, app_version FROM "tabInstalled Application" ORDER BY idx'
    PASSWORD_VARIABLE = "PGPASSWORD"
    LOGIN = ("--host={host}", "--port={port}", "--username={user}", "--no-password")
    CLIENTS: ClassVar = {
        "dump": (("pg_dump",), (*LOGIN, "--no-owner", "--encoding=UTF8", "{name}")),
    }

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

    # --- versions and rights ------------------------------------------------------------------

    def check_client(self) -> None:
        """pg_dump refuses a server of a newer major version."""
        program = shutil.which("pg_dump")
        if program is None:
            return  # an image may back up in its own way
        output = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, env=program_env()
        ).stdout.decode(errors="replace")
        client, server = map(VERSION_NUMBER.search, (output, self.server_version()))
        if client is None or server is None or int(server[2]) <= int(client[2]):
            return
        raise JobError(
            "DatabaseUnsupported",
            f"{self.address} is PostgreSQL {server[1]}, and the image has pg_dump {client[1]}, "
            "which dumps no newer server: no backup and no upgrade would be possible; use a server "
            f"of version {client[2]} or older, or an image with pg_dump {server[2]}",
        )

    def may_use_schema(self) -> bool:
        """Whether the site's user can make tables where the framework makes them."""
        statement = (
            "SELECT COALESCE(bool_and(has_schema_privilege(oid, 'CREATE') AND "
            "has_schema_privilege(oid, 'USAGE')), false) FROM pg_namespace WHERE nspname = 'public'"
        )
        return bool(self.rows(statement)[0][0])

    def check_prepared(self) -> None:
        if not self.may_use_schema():
            settings = self.settings
            raise JobError(
                "DatabaseRightsMissing",
                f"{settings.db_user} may not create tables in schema public of "
                f"{settings.db_name} on {self.address}; nothing was created; run there as the "
                f'schema\'s owner: GRANT ALL ON SCHEMA public TO "{settings.db_user}"',
            )

    # --- the data -----------------------------------------------------------------------------

    def empty(self) -> None:
        """Drops what the site's user owns, except extensions: loading replaces these.

        Each in a transaction of its own: a server has locks for some thousand objects.
        """
        with closing(self.connect_as_user()) as connection:
            for kind, identity in self.query(connection, OWN_OBJECTS):
                # What other roles have in a schema stays.
                rest = "" if kind == "schema" else " CASCADE"
                statement = f"DROP {DROPPED_AS.get(kind, kind)} IF EXISTS {identity}{rest}"
                (self.try_query if kind == "schema" else self.query)(connection, statement)
            while self.query(connection, DROP_LARGE_OBJECTS):
                pass
            for (statement,) in self.query(connection, DEFAULT_RIGHTS):
                self.query(connection, statement)

    def dump_arguments(self) -> list[str]:
        with closing(self.connect_as_user()) as connection:
            tables = self.query(connection, OTHER_TABLES)
            has_large_objects = bool(self.query(connection, OTHER_LARGE_OBJECTS)[0][0])
        for name in names_of(tables, has_large_objects):
            log(f"not dumped, as it is not the site's: {name}")
        return excluding(tables, has_large_objects)

    def load(self, file: BufferedIOBase) -> None:
        """By the driver, which knows no commands of psql.

        A load that is cut is never taken for complete: the Job that comes next empties the database
        first.
        """
        connection = self.connect_as_user()
        try:
            connection.autocommit = False
            Load(connection).run(Dump(file))
        finally:
            connection.close()

    def inspect(self, file: BufferedIOBase) -> DumpFacts:
        connection = self.connect_as_user()
        try:
            connection.autocommit = False
            inspection = Inspection(connection)
            inspection.run(Dump(file))
            return inspection.facts
        finally:
            connection.close()
