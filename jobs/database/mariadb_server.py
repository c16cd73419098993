"""MariaDB, by the drivers that the framework uses (PyMySQL, mysqlclient) and by its programs."""

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import closing
from io import BufferedIOBase
from typing import Any, ClassVar

from database_admin_client import AccessDenied, DatabaseNotFound
from database_server import Connection, Program, Server
from dump_filter import mariadb_statements
from framework_programs import program_env
from operator_constants import RESTORE_FAILED


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

    def load(self, file: BufferedIOBase) -> None:
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

    def check_prepared(self) -> None:
        """The administrator has granted all rights on the database, or creating a site fails."""

    def check_client(self) -> None:
        """Each version of the program dumps each version of the server."""

    def client_address(self) -> tuple[str, int]:
        address = super().client_address()
        return address if self.tls is None else self.tls.mariadb_address(*address)

    def client_tls(self) -> list[str]:
        return [] if self.tls is None else self.tls.mariadb_arguments()

    def empty(self) -> None:
        with closing(self.connect_as_user()) as connection:
            self.query(connection, "SET SESSION foreign_key_checks = 0")
            for name, table_type in self.query(connection, self.LIST_TABLES):
                kind = table_type if table_type in ("VIEW", "SEQUENCE") else "TABLE"
                quoted = name.replace("`", "``")
                self.query(connection, f"DROP {kind} IF EXISTS `{quoted}`")
