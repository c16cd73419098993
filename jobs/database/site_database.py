"""The database servers, by the drivers that the framework uses (PyMySQL, mysqlclient, psycopg2).

The site's own user does everything except creating and dropping the database and the user. That is
the work of the administrator, whose login only database_admin.py has, in another container.
"""

import os
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from secrets import token_urlsafe
from typing import Any, ClassVar

from database_admin_client import AccessDenied, DatabaseNotFound, request
from database_tls import TlsFailed, environment_tls, tls_problem
from dump_filter import mariadb_statements, postgres_parts
from framework_programs import program_env
from job_result import JobError, log
from operator_constants import RESTORE_FAILED
from secret_redaction import redact
from site_state import SiteSettings, recorded_database

# A server that has just started may refuse a login whose account is still being made.
REFUSAL_SECONDS = 30
# A connection of any of the drivers: they share no type.
Connection = Any
Program = subprocess.Popen[bytes]


def database_server(settings: SiteSettings) -> "Server":
    return MariaDB(settings) if settings.db_type == "mariadb" else Postgres(settings)


def check_recorded_server(
    settings: SiteSettings, database: "Server", passwords: Iterable[str], otherwise: str = ""
) -> bool:
    """Fails if the site's database is on another server, before the administrator changes this one.

    A server may have the database of a site of the same name in another cluster: databases are
    named after namespace and site. But passwords are random in each cluster. A server that accepts
    one of the site's `passwords`, and not any password, has the site's database: the server was
    renamed, or the database was moved with its user. Returns whether that is so.
    """
    recorded = recorded_database(settings)
    host, port = recorded["dbHost"], recorded["dbPort"] or settings.db_port
    if not settings.has_root or not host:
        return False
    if (host, str(port)) == (settings.db_host, str(settings.db_port)):
        return False
    problem = f"refuses the site's password for {settings.db_user}"
    if any(database.accepts_password(password) for password in passwords if password):
        if not database.accepts_password(token_urlsafe(32)):
            return True
        problem = f"accepts any password for {settings.db_user}"
    raise JobError(
        "DatabaseServerMismatch",
        f"the database {settings.db_name} of {settings.site_name} is on {host}:{port}, and "
        f"{database.address} {problem}: its database may belong to another site; "
        f"nothing was touched; set the server back to {host}:{port}{otherwise}",
    )


class Server(ABC):
    """A database server. Each method opens the connection that it needs, and closes it."""

    LIST_TABLES: ClassVar[str]
    LIST_OTHER_CONNECTIONS: ClassVar[str]
    END_CONNECTION: ClassVar[str]
    UPTIME: ClassVar[str]
    VERSION: ClassVar[str]
    DATA_BYTES: ClassVar[str]
    PATCH_LOG: ClassVar[str]
    PASSWORD_VARIABLE: ClassVar[str]
    # Names of the client programs, and their arguments.
    CLIENTS: ClassVar[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]]

    def __init__(self, settings: SiteSettings) -> None:
        self.settings = settings
        self.tls = environment_tls()

    @property
    def address(self) -> str:
        return f"{self.settings.db_host}:{self.settings.db_port}"

    @abstractmethod
    def open(self, user: str, password: str, database: str) -> Connection: ...

    def connect_as_user(self) -> Connection:
        settings = self.settings
        return self.open(settings.db_user, settings.db_password, settings.db_name)

    def ask_administrator(self, operation: str) -> Any:
        return request(self.settings.admin_socket, operation, self.settings.wait_seconds)

    def exists(self) -> bool:
        return bool(self.ask_administrator("exists"))

    def check_rights(self) -> None:
        """Fails where the administrator lacks a right, before anything is created."""
        if self.settings.has_root:
            self.ask_administrator("check_rights")

    def create(self) -> None:
        """Creates the database and its user. Each step may have been done before."""
        self.ask_administrator("create")

    def drop(self) -> None:
        """Drops the database and its user."""
        self.ask_administrator("drop")

    def set_user_password(self) -> None:
        self.ask_administrator("set_user_password")

    def check_login(self) -> None:
        """Fails unless the server accepts the login of this Job."""
        if self.settings.has_root:
            self.ask_administrator("check_login")
        else:
            self.connect_as_user().close()

    @abstractmethod
    def empty(self) -> None:
        """Drops every table and view as the site's own user."""

    def wait(self) -> None:
        """Waits until the server accepts this Job's login, at most WAIT_SECONDS.

        A server that answers and refuses it is asked for REFUSAL_SECONDS at most.
        """
        deadline = time.monotonic() + self.settings.wait_seconds
        while problem := self.login_problem():
            if problem.reason != "DatabaseUnreachable":
                deadline = min(deadline, time.monotonic() + REFUSAL_SECONDS)
            if time.monotonic() >= deadline:
                raise problem
            log(f"waiting for the database: {problem.reason}: {problem}")
            time.sleep(2)

    def login_problem(self) -> JobError | None:
        """What may pass while the Job waits. Raises what does not."""
        try:
            self.check_login()
        except AccessDenied as error:
            user = error.user or self.settings.db_user
            return JobError("DatabaseAccessDenied", f"{self.address} refuses {user}: {error}")
        except DatabaseNotFound as error:
            return JobError("DatabaseMissing", f"{self.address}: {error}")
        except TlsFailed as error:
            raise JobError("DatabaseTlsFailed", f"{self.address}: {error}") from None
        except ConnectionError as error:
            return JobError("DatabaseUnreachable", f"{self.address}: {error}")
        return None

    def uptime_seconds(self) -> float:
        if self.settings.has_root:
            return float(self.ask_administrator("uptime_seconds"))
        connection = self.connect_as_user()
        try:
            return float(self.query(connection, self.UPTIME)[0][0])
        finally:
            connection.close()

    def user_can_connect(self) -> bool:
        return self.accepts_password(self.settings.db_password)

    def accepts_password(self, password: str) -> bool:
        """Whether the site's user can connect to the site's database with this password."""
        try:
            self.open(self.settings.db_user, password, self.settings.db_name).close()
            return True
        except (AccessDenied, DatabaseNotFound):
            return False

    def rows(self, statement: str) -> list[Any]:
        """The rows of a statement that the site's own user runs."""
        connection = self.connect_as_user()
        try:
            return self.query(connection, statement)
        finally:
            connection.close()

    def tables(self) -> list[Any]:
        """Tables and views of the site's database that the site's own user can see."""
        return self.rows(self.LIST_TABLES)

    def version(self) -> str:
        return str(self.rows(self.VERSION)[0][0])

    def data_bytes(self) -> int:
        """Size of the tables without their indexes, as the server estimates it."""
        return int(self.rows(self.DATA_BYTES)[0][0])

    def patch_log(self) -> list[tuple[str, int]]:
        """The framework's log: patches, and whether each failed and was skipped."""
        return [(str(patch), int(skipped or 0)) for patch, skipped in self.rows(self.PATCH_LOG)]

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

    @abstractmethod
    def load(self, file: Iterable[bytes]) -> None:
        """Runs a dump in the empty database, whatever client version and user made it.

        A dump is foreign: it must not run a command of a client program, which could start others.
        """

    def client(self, kind: str, reason: str) -> tuple[str, list[str]]:
        """A client program and its arguments. The password is in its environment."""
        names, templates = self.CLIENTS[kind]
        program = next(filter(None, map(shutil.which, names)), None)
        if program is None:
            raise JobError(reason, f"the image has none of: {', '.join(names)}")
        settings = self.settings
        host, port = self.client_address()
        values = {"host": host, "port": port, "user": settings.db_user, "name": settings.db_name}
        arguments = [template.format(**values) for template in templates]
        return program, [arguments[0], *self.client_tls(), *arguments[1:]]

    def client_address(self) -> tuple[str, int]:
        return self.settings.db_host, self.settings.db_port

    def client_tls(self) -> list[str]:
        """Further arguments of a client program, behind the first one."""
        return []

    def connection_error(self, error: Exception, text: object) -> ConnectionError:
        """The error of a connection that was not made."""
        address = (self.settings.db_host, self.settings.db_port)
        problem = tls_problem(self.tls, self.settings.db_type, address, error)
        return ConnectionError(text) if problem is None else TlsFailed(problem)

    def client_env(self) -> dict[str, str]:
        return {}

    def run_client(
        self,
        command: list[str],
        reason: str,
        work: Callable[[Program], None],
        **pipes: int,
    ) -> None:
        env = program_env()
        env[self.PASSWORD_VARIABLE] = self.settings.db_password
        env.update(self.client_env())
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


def has_sandbox(program: str) -> bool:
    """Whether the client has an option that disables commands of the client and of the shell."""
    command = [program, "--no-defaults", "--help"]
    help = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=program_env())
    return b"--sandbox" in help.stdout


def without_newer_statements(file: Iterable[bytes]) -> Iterator[bytes]:
    # Texts contain no line ends, so a line of this form is a statement of a newer client.
    return (line for line in file if not line.startswith(b"/*M!999999"))


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
    VERSION = "SELECT VERSION()"
    DATA_BYTES = (
        "SELECT COALESCE(SUM(DATA_LENGTH), 0) FROM information_schema.TABLES "
        "WHERE TABLE_SCHEMA = DATABASE()"
    )
    PATCH_LOG = "SELECT patch, skipped FROM `tabPatch Log`"
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
                # The dump could otherwise send files of this container to the database.
                "--local-infile=0",
                "--init-command=SET foreign_key_checks = 0",
                "{name}",
            ),
        ),
    }
    DENIED_CODES = (1044, 1045, 1698, 1130)
    NO_DATABASE_CODE = 1049

    def load(self, file: Iterable[bytes]) -> None:
        program, arguments = self.client("shell", RESTORE_FAILED)
        if has_sandbox(program):
            arguments.insert(-1, "--sandbox")
            lines = without_newer_statements(file)
        else:
            lines = mariadb_statements(without_newer_statements(file))

        def feed(process: Program) -> None:
            assert process.stdin is not None
            try:
                for line in lines:
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

    def open(self, user: str, password: str, database: str | None) -> Connection:
        driver = mysql_driver()
        options: dict[str, Any] = {
            "host": self.settings.db_host,
            "port": self.settings.db_port,
            "user": user,
            "password": password,
            "charset": "utf8mb4",
            "autocommit": True,
            "connect_timeout": 5,
            **({"database": database} if database else {}),
        }
        try:
            if self.tls is None:
                return driver.connect(**options)
            return self.tls.connect_mysql(driver, **options)
        except driver.MySQLError as error:
            code, text = (*error.args, "")[:2] if error.args else (0, error)
            if code in self.DENIED_CODES:
                raise AccessDenied(text) from None
            if code == self.NO_DATABASE_CODE:
                raise DatabaseNotFound(text) from None
            raise self.connection_error(error, text or error) from None

    def client_address(self) -> tuple[str, int]:
        address = super().client_address()
        return address if self.tls is None else self.tls.mariadb_address(*address)

    def client_tls(self) -> list[str]:
        return [] if self.tls is None else self.tls.mariadb_arguments()

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
