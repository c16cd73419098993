"""The database servers, by the drivers that the framework uses (PyMySQL, mysqlclient, psycopg2).

Names are validated identifiers (see site_state.py) and quoted. The driver binds or escapes
passwords. The framework's own setup is not used: on PostgreSQL it drops the database first, and on
MariaDB it restricts the user to the address of the Job's pod.
"""

import os
import re
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from job_result import JobError, log
from operator_constants import RESTORE_FAILED
from secret_redaction import redact
from site_state import SiteSettings

# The framework grants these when a managed MariaDB's administrator may not grant ALL.
REDUCED_GRANTS = (
    "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER, CREATE TEMPORARY TABLES, "
    "CREATE VIEW, EVENT, TRIGGER, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EXECUTE, LOCK TABLES"
)
# A connection of any of the drivers: they share no type.
Connection = Any
Program = subprocess.Popen[bytes]


class AccessDenied(Exception):
    """The server refuses this login, or this login's access to the database."""


class DatabaseNotFound(Exception):
    """The server has no database of this name."""


def database_server(settings: SiteSettings) -> "Server":
    return MariaDB(settings) if settings.db_type == "mariadb" else Postgres(settings)


class Server(ABC):
    """A database server. Each method opens the connection that it needs, and closes it."""

    LIST_TABLES: ClassVar[str]
    LIST_OTHER_CONNECTIONS: ClassVar[str]
    END_CONNECTION: ClassVar[str]
    UPTIME: ClassVar[str]
    PASSWORD_VARIABLE: ClassVar[str]
    # Names of the client programs, and their arguments.
    CLIENTS: ClassVar[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]]

    def __init__(self, settings: SiteSettings) -> None:
        self.settings = settings

    @property
    def address(self) -> str:
        return f"{self.settings.db_host}:{self.settings.db_port}"

    @abstractmethod
    def connect_as_root(self) -> Connection: ...

    @abstractmethod
    def connect_as_user(self) -> Connection: ...

    @abstractmethod
    def exists(self) -> bool: ...

    @abstractmethod
    def create(self) -> None:
        """Creates the database and its user. Each step may have been done before."""

    @abstractmethod
    def ensure_user(self, root: Connection) -> None: ...

    @abstractmethod
    def drop(self) -> None:
        """Drops the database and its user."""

    @abstractmethod
    def empty(self) -> None:
        """Drops every table and view as the site's own user."""

    @staticmethod
    @abstractmethod
    def compatible_statements(file: Iterable[bytes]) -> Iterator[bytes]:
        """The lines of a dump that any version of the client can run."""

    def connect(self) -> Connection:
        return self.connect_as_root() if self.settings.has_root else self.connect_as_user()

    def wait(self) -> None:
        """Waits until the server accepts this Job's login, at most WAIT_SECONDS."""
        settings = self.settings
        deadline = time.monotonic() + settings.wait_seconds
        while True:
            try:
                self.connect().close()
                return
            except AccessDenied as error:
                user = settings.root_user if settings.has_root else settings.db_user
                problem = JobError(
                    "DatabaseAccessDenied", f"{self.address} refuses {user}: {error}"
                )
            except DatabaseNotFound as error:
                problem = JobError("DatabaseMissing", f"{self.address}: {error}")
            except ConnectionError as error:
                problem = JobError("DatabaseUnreachable", f"{self.address}: {error}")
            if time.monotonic() >= deadline:
                raise problem
            log(f"waiting for the database: {problem.reason}: {problem}")
            time.sleep(2)

    def uptime_seconds(self) -> float:
        connection = self.connect()
        try:
            return float(self.query(connection, self.UPTIME)[0][0])
        finally:
            connection.close()

    def user_can_connect(self) -> bool:
        try:
            self.connect_as_user().close()
            return True
        except (AccessDenied, DatabaseNotFound):
            return False

    def set_user_password(self) -> None:
        root = self.connect_as_root()
        try:
            self.ensure_user(root)
        finally:
            root.close()

    def tables(self) -> list[Any]:
        """Tables and views of the site's database that the site's own user can see."""
        connection = self.connect_as_user()
        try:
            return self.query(connection, self.LIST_TABLES)
        finally:
            connection.close()

    def try_query(self, connection: Connection, statement: str, *arguments: object) -> None:
        """Runs an optional statement, which a managed server may not permit."""
        try:
            self.query(connection, statement, *arguments)
        except Exception as error:
            log(f"{statement}: {error}")

    def wait_until_unused(self, seconds: float) -> None:
        """Waits until no other connection to the site's database is open, then closes the rest.

        The framework keeps no connections. An idle one is a request or job between two statements.
        """
        connection = self.connect_as_user()
        deadline = time.monotonic() + seconds
        try:
            while others := [row[0] for row in self.query(connection, self.LIST_OTHER_CONNECTIONS)]:
                if time.monotonic() >= deadline:
                    log(f"ending {len(others)} connections to {self.settings.db_name}")
                    for other in others:
                        self.try_query(connection, self.END_CONNECTION, other)
                    return
                time.sleep(0.5)
        finally:
            connection.close()

    def dump(self, file: Any) -> None:
        """Writes a consistent dump of the database as SQL, by the server's client program."""
        program, arguments = self.client("dump", "BackupFailed")

        def copy(process: Program) -> None:
            assert process.stdout is not None
            shutil.copyfileobj(process.stdout, file, 1 << 20)

        self.run_client([program, *arguments], "BackupFailed", copy, stdout=subprocess.PIPE)

    def load(self, file: Iterable[bytes]) -> None:
        """Runs a dump in the empty database, whatever client version and user made it."""
        program, arguments = self.client("shell", RESTORE_FAILED)
        arguments[-1:-1] = self.sandbox_arguments(program)

        def feed(process: Program) -> None:
            assert process.stdin is not None
            try:
                for line in self.compatible_statements(file):
                    process.stdin.write(line)
                process.stdin.close()
            except BrokenPipeError:
                pass  # the exit code and the error output have the cause

        self.run_client(
            [program, *arguments],
            RESTORE_FAILED,
            feed,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )

    @staticmethod
    def sandbox_arguments(program: str) -> list[str]:
        """Arguments that prevent a dump from running commands of the client or the shell."""
        del program
        return []

    def client(self, kind: str, reason: str) -> tuple[str, list[str]]:
        """A client program and its arguments. The password is in its environment."""
        names, arguments = self.CLIENTS[kind]
        program = next(filter(None, map(shutil.which, names)), None)
        if program is None:
            raise JobError(reason, f"the image has none of: {', '.join(names)}")
        settings = self.settings
        values = {
            "host": settings.db_host,
            "port": settings.db_port,
            "user": settings.db_user,
            "name": settings.db_name,
        }
        return program, [argument.format(**values) for argument in arguments]

    def run_client(
        self,
        command: list[str],
        reason: str,
        work: Callable[[Program], None],
        **pipes: int,
    ) -> None:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("FRAPPE_", "MYSQL", "PG"))}
        env[self.PASSWORD_VARIABLE] = self.settings.db_password
        # A file: the program would stop when a pipe of messages is full.
        with open(os.memfd_create("messages"), "w+b") as messages:
            streams: dict[str, int] = {"stdin": subprocess.DEVNULL, **pipes}
            process = subprocess.Popen(
                command,
                env=env,
                stdin=streams["stdin"],
                stdout=streams.get("stdout"),
                stderr=messages,
            )
            try:
                work(process)
            except BaseException:
                process.kill()
                raise
            finally:
                code = process.wait()
            messages.seek(0)
            output = redact(messages.read().decode(errors="replace")).strip().splitlines()
        if code:
            raise JobError(reason, " | ".join(output[-3:]) or f"{command[0]}: exit code {code}")

    @staticmethod
    def query(connection: Connection, statement: str, *arguments: object) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(statement, arguments or None)
            return list(cursor.fetchall()) if cursor.description else []


def mysql_driver() -> Any:
    """The driver that the framework's version uses."""
    try:
        import MySQLdb

        return MySQLdb
    except ImportError:
        import pymysql

        return pymysql


class MariaDB(Server):
    LIST_TABLES = (
        "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES "
        "WHERE TABLE_SCHEMA = DATABASE()"
    )
    LIST_OTHER_CONNECTIONS = (
        "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() "
        "AND ID <> CONNECTION_ID() AND USER = SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"
    )
    END_CONNECTION = "KILL %s"
    UPTIME = (
        "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'UPTIME'"
    )
    PASSWORD_VARIABLE = "MYSQL_PWD"
    LOGIN = ("--no-defaults", "--host={host}", "--port={port}", "--protocol=tcp", "--user={user}")
    CLIENTS: ClassVar = {
        "dump": (
            ("mariadb-dump", "mysqldump"),
            (
                *LOGIN,
                "--single-transaction",
                "--quick",
                "--hex-blob",
                "--max-allowed-packet=1G",
                "--default-character-set=utf8mb4",
                "{name}",
            ),
        ),
        "shell": (
            ("mariadb", "mysql"),
            (
                *LOGIN,
                "--max-allowed-packet=1G",
                "--default-character-set=utf8mb4",
                "--batch",
                "--init-command=SET foreign_key_checks = 0",
                "{name}",
            ),
        ),
    }
    DENIED_CODES = (1044, 1045, 1698, 1130)
    NO_DATABASE_CODE = 1049
    CANNOT_GRANT_CODES = (1044, 1045, 1227)

    @staticmethod
    def sandbox_arguments(program: str) -> list[str]:
        command = [program, "--no-defaults", "--help"]
        options = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).stdout
        return ["--sandbox"] if b"--sandbox" in options else []

    @staticmethod
    def compatible_statements(file: Iterable[bytes]) -> Iterator[bytes]:
        # Texts contain no line ends, so a line of this form is a statement of a newer client.
        return (line for line in file if not line.startswith(b"/*M!999999"))

    def open(self, user: str, password: str, database: str | None) -> Connection:
        driver = mysql_driver()
        options = {"database": database} if database else {}
        try:
            return driver.connect(
                host=self.settings.db_host,
                port=self.settings.db_port,
                user=user,
                password=password,
                charset="utf8mb4",
                autocommit=True,
                connect_timeout=5,
                **options,
            )
        except driver.MySQLError as error:
            code, text = (*error.args, "")[:2] if error.args else (0, error)
            if code in self.DENIED_CODES:
                raise AccessDenied(text) from None
            if code == self.NO_DATABASE_CODE:
                raise DatabaseNotFound(text) from None
            raise ConnectionError(text or error) from None

    def connect_as_root(self) -> Connection:
        connection = self.open(self.settings.root_user, self.settings.root_password, None)
        self.query(connection, "SET SESSION lock_wait_timeout = 60")
        return connection

    def connect_as_user(self) -> Connection:
        settings = self.settings
        return self.open(settings.db_user, settings.db_password, settings.db_name)

    def exists(self) -> bool:
        statement = "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s"
        root = self.connect_as_root()
        try:
            return bool(self.query(root, statement, self.settings.db_name))
        finally:
            root.close()

    def create(self) -> None:
        root = self.connect_as_root()
        try:
            self.query(
                root,
                f"CREATE DATABASE IF NOT EXISTS `{self.settings.db_name}` "
                "CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
            )
            self.ensure_user(root)
        finally:
            root.close()

    def ensure_user(self, root: Connection) -> None:
        """The user may connect from any host, and has rights on exactly this database."""
        settings = self.settings
        user, name = settings.db_user, settings.db_name
        others = self.query(
            root,
            "SELECT TABLE_SCHEMA FROM information_schema.SCHEMA_PRIVILEGES WHERE GRANTEE LIKE %s "
            "AND REPLACE(TABLE_SCHEMA, '\\\\', '') <> %s LIMIT 1",
            f"'{user.replace('_', chr(92) + '_')}'@%",
            name,
        )
        if others:
            raise JobError(
                "DatabaseUserExists",
                f"the user {user} has rights on another database, {others[0][0]}",
            )
        password = settings.db_password
        self.query(root, f"CREATE USER IF NOT EXISTS '{user}'@'%%' IDENTIFIED BY %s", password)
        self.query(root, f"ALTER USER '{user}'@'%%' IDENTIFIED BY %s", password)
        # In a grant `_` matches any character: unescaped, the site could read other databases.
        database = name.replace("_", "\\_")
        try:
            self.query(root, f"GRANT ALL PRIVILEGES ON `{database}`.* TO '{user}'@'%'")
        except Exception as error:
            if not error.args or error.args[0] not in self.CANNOT_GRANT_CODES:
                raise
            self.query(root, f"GRANT {REDUCED_GRANTS} ON `{database}`.* TO '{user}'@'%'")

    def drop(self) -> None:
        """Drops the database, then the user at every host: restores leave users at a pod's IP."""
        name, user = self.settings.db_name, self.settings.db_user
        root = self.connect_as_root()
        try:
            # An open transaction of a terminating worker would block the drop.
            connections = self.query(
                root,
                "SELECT ID FROM information_schema.PROCESSLIST "
                "WHERE DB = %s AND ID <> CONNECTION_ID()",
                name,
            )
            for (connection,) in connections:
                self.try_query(root, "KILL %s", connection)
            self.query(root, f"DROP DATABASE IF EXISTS `{name}`")
            rows = self.query(root, "SELECT Host FROM mysql.user WHERE User = %s", user)
            for host in sorted({row[0] for row in rows} | {"%"}):
                self.query(root, f"DROP USER IF EXISTS '{user}'@%s", host)
        finally:
            root.close()

    def empty(self) -> None:
        connection = self.connect_as_user()
        try:
            self.query(connection, "SET SESSION foreign_key_checks = 0")
            for name, table_type in self.query(connection, self.LIST_TABLES):
                kind = table_type if table_type in ("VIEW", "SEQUENCE") else "TABLE"
                quoted = name.replace("`", "``")
                self.query(connection, f"DROP {kind} IF EXISTS `{quoted}`")
        finally:
            connection.close()


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
    PASSWORD_VARIABLE = "PGPASSWORD"
    LOGIN = ("--host={host}", "--port={port}", "--username={user}", "--no-password")
    CLIENTS: ClassVar = {
        "dump": (
            ("pg_dump",),
            (*LOGIN, "--no-owner", "--no-acl", "--schema=public", "--encoding=UTF8", "{name}"),
        ),
        "shell": (
            ("psql",),
            (
                *LOGIN,
                "--no-psqlrc",
                "--quiet",
                "--single-transaction",
                "--set=ON_ERROR_STOP=1",
                "{name}",
            ),
        ),
    }
    KINDS: ClassVar = {"v": "VIEW", "m": "MATERIALIZED VIEW", "S": "SEQUENCE"}
    # The schema exists and belongs to the server's administrator. The site's user owns the rest.
    EXCLUDED_STATEMENTS = re.compile(
        rb"\\(un)?restrict|CREATE SCHEMA public;|COMMENT ON SCHEMA public |SET transaction_timeout|"
        rb"GRANT |REVOKE |ALTER DEFAULT PRIVILEGES |ALTER [A-Z ]+ .* OWNER TO "
    )

    @staticmethod
    def compatible_statements(file: Iterable[bytes]) -> Iterator[bytes]:
        in_rows = False
        for line in file:
            if in_rows:
                in_rows = line.rstrip() != b"\\."
            elif line.startswith(b"COPY ") and line.rstrip().endswith(b" FROM stdin;"):
                in_rows = True
            elif Postgres.EXCLUDED_STATEMENTS.match(line):
                continue
            yield line

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
            raise ConnectionError(text) from None
        connection.autocommit = True
        return connection

    def connect_as_root(self) -> Connection:
        user, password = self.settings.root_user, self.settings.root_password
        try:
            return self.open(user, password, "postgres")
        except DatabaseNotFound:
            return self.open(user, password, user)

    def connect_as_user(self) -> Connection:
        settings = self.settings
        return self.open(settings.db_user, settings.db_password, settings.db_name)

    def exists(self) -> bool:
        root = self.connect_as_root()
        try:
            return self.has_database(root)
        finally:
            root.close()

    def has_database(self, root: Connection) -> bool:
        statement = "SELECT 1 FROM pg_database WHERE datname = %s"
        return bool(self.query(root, statement, self.settings.db_name))

    def create(self) -> None:
        name, user = self.settings.db_name, self.settings.db_user
        root = self.connect_as_root()
        try:
            self.ensure_user(root)
            if not self.has_database(root):
                self.query(root, f"CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING 'UTF8'")
            # Only a member of the role, or a superuser, can change the database's owner to it.
            self.try_query(root, f'GRANT "{user}" TO CURRENT_USER')
            self.query(root, f'ALTER DATABASE "{name}" OWNER TO "{user}"')
            # By default every role of the server may connect to every database.
            self.query(root, f'REVOKE ALL ON DATABASE "{name}" FROM PUBLIC')
        finally:
            root.close()

    def ensure_user(self, root: Connection) -> None:
        settings = self.settings
        user = settings.db_user
        others = self.query(
            root,
            "SELECT d.datname FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba "
            "WHERE r.rolname = %s AND d.datname <> %s",
            user,
            settings.db_name,
        )
        if others:
            raise JobError(
                "DatabaseUserExists", f"the user {user} owns another database, {others[0][0]}"
            )
        exists = self.query(root, "SELECT 1 FROM pg_roles WHERE rolname = %s", user)
        verb = "ALTER" if exists else "CREATE"
        self.query(root, f'{verb} ROLE "{user}" WITH LOGIN PASSWORD %s', settings.db_password)

    def drop(self) -> None:
        name, user = self.settings.db_name, self.settings.db_user
        root = self.connect_as_root()
        try:
            if self.has_database(root):
                self.try_query(root, f'GRANT "{user}" TO CURRENT_USER')
                self.query(root, f'REVOKE CONNECT ON DATABASE "{name}" FROM PUBLIC')
                self.query(root, f'ALTER DATABASE "{name}" WITH CONNECTION LIMIT 0')
                self.query(
                    root,
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                    name,
                )
                self.query(root, f'DROP DATABASE IF EXISTS "{name}"')
            self.query(root, f'DROP ROLE IF EXISTS "{user}"')
        finally:
            root.close()

    def empty(self) -> None:
        connection = self.connect_as_user()
        try:
            # Sequences last: dropping a table drops the sequences that it owns.
            tables = sorted(
                self.query(connection, self.LIST_TABLES), key=lambda row: bool(row[1] == "S")
            )
            for name, relkind in tables:
                quoted = '"' + name.replace('"', '""') + '"'
                kind = self.KINDS.get(relkind, "TABLE")
                self.query(connection, f"DROP {kind} IF EXISTS public.{quoted} CASCADE")
        finally:
            connection.close()
