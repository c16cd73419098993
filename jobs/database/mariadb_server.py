"""MariaDB, by the drivers that the framework uses (PyMySQL, mysqlclient) and by its programs."""

from contextlib import closing
from functools import partial
from io import BufferedIOBase
from typing import Any, ClassVar

from database_admin_client import AccessDenied, DatabaseNotFound
from database_server import Connection, Server
from dump_facts import DumpFacts
from job_result import JobError, log
from mariadb_inspection import DumpInspector
from mariadb_load import DumpLoader
from mariadb_objects import DUMP_OPTIONS, ObjectReader, Objects
from mariadb_statements import quoted


def mysql_driver() -> Any:
    """The driver that the framework's version uses."""
    try:
        import MySQLdb

        return MySQLdb
    except ImportError:
        import pymysql

        return pymysql


def password_of(driver: Any, password: str) -> str | bytes:
    """PyMySQL would send a text in Latin-1; a server compares bytes of UTF-8."""
    return password if driver.__name__ == "MySQLdb" else password.encode()


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
    APP_VERSIONS = "SELECT app_name, app_version FROM `tabInstalled Application` ORDER BY idx"
    PASSWORD_VARIABLE = "MYSQL_PWD"
    LOGIN = ("--no-defaults", "--host={host}", "--port={port}", "--protocol=tcp", "--user={user}")
    CLIENTS: ClassVar = {
        "dump": (
            ("mariadb-dump", "mysqldump"),
            (*LOGIN, "--single-transaction", "--quick", *DUMP_OPTIONS, "{name}"),
        ),
    }
    DENIED_CODES = (1044, 1045, 1698, 1130)
    NO_DATABASE_CODE = 1049

    def check_rights(self) -> None:
        self.check_password()
        super().check_rights()

    def check_prepared(self) -> None:
        """The administrator has granted all rights on the database, or creating a site fails."""
        self.check_product(self.version())

    def check_client(self) -> None:
        """Each version of the program dumps each version of the server."""

    def set_user_password(self) -> None:
        self.check_password()
        super().set_user_password()

    def check_password(self) -> None:
        """Fails where the framework cannot send the password of the site's user."""
        if mysql_driver().__name__ == "pymysql" and not self.settings.db_password.isascii():
            raise JobError(
                "DatabaseAccessDenied",
                f"the password of {self.settings.db_user} has characters beyond ASCII: PyMySQL, "
                "the driver of this version of the framework, cannot send them",
            )

    def check_product(self, version: str) -> None:
        if "mariadb" not in version.lower():
            raise JobError(
                "DatabaseUnsupported",
                f"{self.address} is no MariaDB, but MySQL {version}; nothing was created; use "
                "MariaDB",
            )

    def objects(self) -> Objects:
        with closing(self.connect_as_user()) as connection:
            return ObjectReader(partial(self.query, connection)).read()

    def dump(self, file: Any) -> None:
        objects = self.objects()
        for what in objects.left_out:
            log(f"the dump: left out: {what}")
        file.write(objects.before)
        names = [f"--ignore-table={self.settings.db_name}.{name}" for name in objects.ignored]
        self.run_dump(file, names)
        file.write(objects.after)

    def load(self, file: BufferedIOBase) -> None:
        with closing(self.connect_as_user()) as connection:
            DumpLoader(connection, mysql_driver(), self.settings.db_name).load(file)

    def inspect(self, file: BufferedIOBase) -> DumpFacts:
        with closing(self.connect_as_user()) as connection:
            inspector = DumpInspector(connection, mysql_driver(), self.settings.db_name)
            inspector.load(file)
            return inspector.facts

    def open(self, user: str, password: str, database: str | None) -> Connection:
        driver = mysql_driver()
        options: dict[str, Any] = {
            "host": self.settings.db_host,
            "port": self.settings.db_port,
            "user": user,
            "password": password_of(driver, password),
            "charset": "utf8mb4",
            "autocommit": True,
            "connect_timeout": 5,
            "local_infile": 0,
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
        """Drops what a dump would have. What it leaves out stays: no dump brings it back."""
        objects = self.objects()
        with closing(self.connect_as_user()) as connection:
            # Some versions know packages in Oracle's mode only.
            self.query(connection, "SET SESSION foreign_key_checks = 0, sql_mode = 'ORACLE'")
            for kind, name in objects.dumped:
                name = quoted(name.encode()).decode()
                self.query(connection, f"DROP {kind} IF EXISTS {name}")
