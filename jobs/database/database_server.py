"""A site's database on its server, as the site's own user sees it.

mariadb_server.py and postgres_server.py have what differs between the servers.

The user does everything except creating and dropping the database and the user. That is the work of
the administrator, whose login only database_admin.py has, in another container.
"""

import os
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from io import BufferedIOBase
from typing import Any, ClassVar

from database_admin_client import AccessDenied, DatabaseNotFound, request
from database_tls import TlsFailed, environment_tls, tls_problem
from dump_facts import DumpFacts
from framework_programs import program_env
from job_environment import address_of
from job_result import JobError, log
from secret_redaction import redact
from site_state import SiteSettings

# A server that has just started may refuse a login whose account is still being made.
REFUSAL_SECONDS = 30
# A connection of any of the drivers: they share no type.
Connection = Any
Program = subprocess.Popen[bytes]


class Server(ABC):
    """A database server. Each method opens the connection that it needs, and closes it."""

    LIST_TABLES: ClassVar[str]
    LIST_OTHER_CONNECTIONS: ClassVar[str]
    END_CONNECTION: ClassVar[str]
    UPTIME: ClassVar[str]
    VERSION: ClassVar[str]
    DATA_BYTES: ClassVar[str]
    PATCH_LOG: ClassVar[str]
    APP_VERSIONS: ClassVar[str]
    PASSWORD_VARIABLE: ClassVar[str]
    # Names of the client programs, and their arguments.
    CLIENTS: ClassVar[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]]

    def __init__(self, settings: SiteSettings) -> None:
        self.settings = settings
        self.tls = environment_tls()

    @property
    def address(self) -> str:
        return address_of(self.settings.db_host, self.settings.db_port)

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
        """Fails where a right is missing, before anything is created."""
        if self.settings.has_root:
            self.ask_administrator("check_rights")
        else:
            self.check_prepared()

    @abstractmethod
    def check_prepared(self) -> None:
        """Fails where the site's user lacks a right in a prepared database."""

    @abstractmethod
    def check_client(self) -> None:
        """Fails where the image's client cannot dump this server."""

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
        """Drops what the database holds, as the site's own user."""

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
        return float(self.rows(self.UPTIME)[0][0])

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
        with closing(self.connect_as_user()) as connection:
            return self.query(connection, statement)

    def tables(self) -> list[Any]:
        """Tables and views of the site's database that the site's own user can see."""
        return self.rows(self.LIST_TABLES)

    def version(self) -> str:
        return str(self.rows(self.VERSION)[0][0])

    def server_version(self) -> str:
        """The version, also before the database exists."""
        if self.settings.has_root:
            return str(self.ask_administrator("server_version"))
        return self.version()

    def data_bytes(self) -> int:
        """Size of the tables without their indexes, as the server estimates it."""
        return int(self.rows(self.DATA_BYTES)[0][0])

    def patch_log(self) -> list[tuple[str, int]]:
        """The framework's log: patches, and whether each failed and was skipped."""
        return [(str(patch), int(skipped or 0)) for patch, skipped in self.rows(self.PATCH_LOG)]

    def app_versions(self) -> dict[str, str]:
        """The framework's record of the installed apps, and of the code that migrated them last."""
        rows = self.rows(self.APP_VERSIONS)
        return {str(app): str(version or "") for app, version in rows}

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
        with closing(self.connect_as_user()) as connection:
            deadline = time.monotonic() + seconds
            while others := [row[0] for row in self.query(connection, self.LIST_OTHER_CONNECTIONS)]:
                if time.monotonic() >= deadline:
                    log(f"ending {len(others)} connections to {self.settings.db_name}")
                    for other in others:
                        self.try_query(connection, self.END_CONNECTION, other)
                    return
                time.sleep(0.5)

    def dump(self, file: Any) -> None:
        """Writes a consistent dump of the database as SQL, by the server's client program."""
        self.run_dump(file, self.dump_arguments())

    def run_dump(self, file: Any, further: list[str]) -> None:
        program, arguments = self.client("dump", "BackupFailed")
        arguments[-1:-1] = further

        def copy(process: Program) -> None:
            assert process.stdout is not None
            shutil.copyfileobj(process.stdout, file, 1 << 20)

        self.run_client([program, *arguments], "BackupFailed", copy, stdout=subprocess.PIPE)

    def dump_arguments(self) -> list[str]:
        """Further arguments, for what the database holds."""
        return []

    @abstractmethod
    def load(self, file: BufferedIOBase) -> None:
        """Runs a dump in the empty database, whatever client version and user made it.

        A dump is foreign: it must not run a command of a client program, which could start others.
        """

    @abstractmethod
    def inspect(self, file: BufferedIOBase) -> DumpFacts:
        """Reads a dump without its rows. Definitions run in the empty database."""

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
    def query(connection: Connection, statement: str | bytes, *arguments: object) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(statement, arguments or None)
            return list(cursor.fetchall()) if cursor.description else []
