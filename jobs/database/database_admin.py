"""Does the administrator's work on a site's database, for the site's Job. Runs beside it.

The only program with the administrator's login of a database server. Its container mounts no site,
runs no code of the framework or of a site, and does these things, all of them to the one database
and the one user that its own environment names. It answers on a Unix socket in a directory that
only the two containers of the pod share.

Environment
  DB_TYPE, DB_HOST, DB_PORT, DB_NAME, DB_USER, DB_PASSWORD (not to drop)
  DB_ROOT_USER, DB_ROOT_PASSWORD
  DB_TLS_MODE, DB_TLS_CA_DIR, DB_TLS_CLIENT_DIR, see database_tls.py
  DB_ADMIN_SOCKET

Names are validated identifiers (see site_state.py) and quoted. The driver binds or escapes
passwords. The framework's own setup is not used: on PostgreSQL it drops the database first, and on
MariaDB it restricts the user to the address of the Job's pod.
"""

import re
import signal
import sys
from abc import abstractmethod
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from database_admin_client import AccessDenied, DatabaseNotFound
from database_server import Connection, Server
from database_tls import TlsFailed
from job_environment import secret_env, text_env
from job_result import JobError, log
from job_secrets import take_secrets
from local_requests import serve
from mariadb_server import MariaDB
from postgres_server import Postgres
from secret_redaction import redact
from site_state import SiteSettings

# The framework grants these when a managed MariaDB's administrator may not grant ALL.
REDUCED_GRANTS = (
    "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER, CREATE TEMPORARY TABLES, "
    "CREATE VIEW, EVENT, TRIGGER, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EXECUTE, LOCK TABLES"
)
CANNOT_GRANT_CODES = (1044, 1045, 1227)
# A line of SHOW GRANTS: the rights, the database and the table as patterns, and what follows.
GRANT_LINE = re.compile(r"^GRANT (.+) ON (`(?:[^`]|``)*`|\*)\.(\*|`.*`) TO (.*)$")
SCHEMA_OWNER = "SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'public'"
NEEDED_RIGHTS = tuple(REDUCED_GRANTS.split(", "))


class AdminSettings(SiteSettings):
    def __init__(self) -> None:
        super().__init__()
        is_mariadb = self.db_type == "mariadb"
        self.root_user = secret_env("DB_ROOT_USER", "root" if is_mariadb else "postgres")
        self.root_password = secret_env("DB_ROOT_PASSWORD", "")
        if self.root_user == self.db_user:
            raise JobError("InvalidInput", "DB_USER is the administrator's account")


class Administrator(Server):
    """A server, with the administrator's login."""

    settings: AdminSettings

    @abstractmethod
    def connect_as_root(self) -> Connection: ...

    @abstractmethod
    def ensure_user(self, root: Connection) -> None: ...

    @abstractmethod
    def missing_rights(self, root: Connection) -> list[str]:
        """The rights that the login lacks for a site's database and its user. Only reads."""

    @abstractmethod
    def has_database(self, root: Connection) -> bool: ...

    def exists(self) -> bool:
        with closing(self.connect_as_root()) as root:
            return self.has_database(root)

    def check_login(self) -> None:
        self.connect_as_root().close()

    def check_rights(self) -> None:
        with closing(self.connect_as_root()) as root:
            missing = self.missing_rights(root)
        if missing:
            raise JobError(
                "DatabaseRightsMissing",
                f"{self.settings.root_user} of {self.address} lacks: {', '.join(missing)}; nothing "
                "was created",
            )

    def set_user_password(self) -> None:
        with closing(self.connect_as_root()) as root:
            self.ensure_user(root)

    def server_version(self) -> str:
        with closing(self.connect_as_root()) as root:
            return str(self.query(root, self.VERSION)[0][0])

    def uptime_seconds(self) -> float:
        with closing(self.connect_as_root()) as root:
            return float(self.query(root, self.UPTIME)[0][0])


class MariaDBAdministrator(Administrator, MariaDB):
    def connect_as_root(self) -> Connection:
        connection = self.open(self.settings.root_user, self.settings.root_password, None)
        self.query(connection, "SET SESSION lock_wait_timeout = 60")
        return connection

    def has_database(self, root: Connection) -> bool:
        statement = "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s"
        return bool(self.query(root, statement, self.settings.db_name))

    def missing_rights(self, root: Connection) -> list[str]:
        self.check_product(str(self.query(root, self.VERSION)[0][0]))
        lines = [str(row[0]) for row in self.query(root, "SHOW GRANTS")]
        matches = [GRANT_LINE.match(line) for line in lines if not line.startswith("GRANT PROXY ")]
        if any(match is None for match in matches):
            return []  # rights of a role, or in another form: the server itself decides
        held: set[str] = set()
        grantable: set[str] = set()
        for match in filter(None, matches):
            rights, database, table, rest = match.groups()
            if table != "*" or not is_pattern_of(database, self.settings.db_name):
                continue
            names = {right.strip() for right in rights.split(",")}
            if "ALL PRIVILEGES" in names:
                names |= {*NEEDED_RIGHTS, *(("CREATE USER",) if database == "*" else ())}
            held |= names
            if "WITH GRANT OPTION" in rest:
                grantable |= names
        lacks = [name for name in ("CREATE", "CREATE USER") if name not in held]
        ungrantable = [name for name in NEEDED_RIGHTS if name not in grantable]
        if ungrantable:
            lacks.append(f"GRANT OPTION for {', '.join(ungrantable)}")
        return lacks

    def create(self) -> None:
        with closing(self.connect_as_root()) as root:
            self.query(
                root,
                f"CREATE DATABASE IF NOT EXISTS `{self.settings.db_name}` "
                "CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
            )
            self.ensure_user(root)

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
            if not error.args or error.args[0] not in CANNOT_GRANT_CODES:
                raise
            self.query(root, f"GRANT {REDUCED_GRANTS} ON `{database}`.* TO '{user}'@'%'")

    def drop(self) -> None:
        """Drops the database, then the user at every host: restores leave users at a pod's IP."""
        name, user = self.settings.db_name, self.settings.db_user
        with closing(self.connect_as_root()) as root:
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
            for host in sorted({*self.hosts_of_user(root), "%"}):
                self.query(root, f"DROP USER IF EXISTS '{user}'@%s", host)

    def hosts_of_user(self, root: Connection) -> list[str]:
        """The hosts of the user's accounts. An administrator of few rights may not read them."""
        statement = "SELECT Host FROM mysql.user WHERE User = %s"
        try:
            return [row[0] for row in self.query(root, statement, self.settings.db_user)]
        except Exception as error:
            log(f"{statement}: {error}")
            return []


def is_pattern_of(quoted: str, name: str) -> bool:
    """Whether a grant's database, with `_` and `%` as wildcards, is of a name."""
    if quoted == "*":
        return True
    pattern, parts = quoted[1:-1].replace("``", "`"), []
    for escaped, character in re.findall(r"\\(.)|(.)", pattern):
        wild = {"%": ".*", "_": "."}.get(character)
        parts.append(wild or re.escape(escaped or character))
    return re.fullmatch("".join(parts), name) is not None


class PostgresAdministrator(Administrator, Postgres):
    def connect_as_root(self) -> Connection:
        user, password = self.settings.root_user, self.settings.root_password
        try:
            return self.open(user, password, "postgres")
        except DatabaseNotFound:
            return self.open(user, password, user)

    def missing_rights(self, root: Connection) -> list[str]:
        statement = (
            "SELECT rolsuper OR rolcreaterole, rolsuper OR rolcreatedb FROM pg_roles "
            "WHERE rolname = current_user"
        )
        [held] = self.query(root, statement)
        return [name for name, has in zip(("CREATEROLE", "CREATEDB"), held, strict=True) if not has]

    def has_database(self, root: Connection) -> bool:
        statement = "SELECT 1 FROM pg_database WHERE datname = %s"
        return bool(self.query(root, statement, self.settings.db_name))

    def create(self) -> None:
        name, user = self.settings.db_name, self.settings.db_user
        with closing(self.connect_as_root()) as root:
            self.ensure_user(root)
            if not self.has_database(root):
                self.query(root, f"CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING 'UTF8'")
            # Only a member of the role, or a superuser, can change the database's owner to it.
            self.try_query(root, f'GRANT "{user}" TO CURRENT_USER')
            self.query(root, f'ALTER DATABASE "{name}" OWNER TO "{user}"')
            # By default every role of the server may connect to every database.
            self.query(root, f'REVOKE ALL ON DATABASE "{name}" FROM PUBLIC')
        if not self.may_use_schema():
            self.grant_schema()

    def grant_schema(self) -> None:
        """Some managed servers give schema public of new databases to a role of their own."""
        settings = self.settings
        grant = f'GRANT ALL ON SCHEMA public TO "{settings.db_user}"'
        root_user, root_password = settings.root_user, settings.root_password
        with closing(self.open(root_user, root_password, settings.db_name)) as root:
            owners = self.query(root, SCHEMA_OWNER)
            self.try_query(root, grant if owners else "CREATE SCHEMA public")
            if not owners:
                self.try_query(root, grant)
        if not self.may_use_schema():
            owner = owners[0][0] if owners else "no role"
            raise JobError(
                "DatabaseRightsMissing",
                f"schema public of new databases on {self.address} belongs to {owner}, and "
                f"{root_user} may not grant rights on it; run as a superuser: GRANT "
                f'"{owner}" TO "{root_user}"; or prepare the database, and run there: {grant}',
            )

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
        with closing(self.connect_as_root()) as root:
            if self.has_database(root):
                self.try_query(root, f'GRANT "{user}" TO CURRENT_USER')
                self.query(root, f'REVOKE CONNECT ON DATABASE "{name}" FROM PUBLIC')
                self.query(root, f'ALTER DATABASE "{name}" WITH CONNECTION LIMIT 0')
                # Only a superuser may end a superuser's connection, or an autovacuum.
                self.try_query(
                    root,
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                    name,
                )
                self.query(root, f'DROP DATABASE IF EXISTS "{name}"')
            self.query(root, f'DROP ROLE IF EXISTS "{user}"')


def operations(server: Administrator) -> dict[str, Callable[[], Any]]:
    """All that a client can ask for. No request has an argument."""
    return {
        "check_login": server.check_login,
        "check_rights": server.check_rights,
        "exists": server.exists,
        "create": server.create,
        "drop": server.drop,
        "server_version": server.server_version,
        "set_user_password": server.set_user_password,
        "uptime_seconds": server.uptime_seconds,
    }


def answer(server: Administrator | JobError, line: bytes) -> dict[str, Any]:
    """The result of a request, or its error, without secrets."""
    user = ""
    try:
        if isinstance(server, JobError):
            raise server
        user = server.settings.root_user
        operation = operations(server).get(line.decode(errors="replace").strip())
        if operation is None:
            raise JobError("InvalidInput", "database_admin.py has no such operation")
        return {"result": operation()}
    except JobError as error:
        return {"error": "JobError", "reason": error.reason, "message": redact(str(error))}
    except AccessDenied as error:
        return {"error": "AccessDenied", "message": redact(str(error)), "user": user}
    except TlsFailed as error:
        return {"error": "TlsFailed", "message": redact(str(error))}
    except (DatabaseNotFound, ConnectionError) as error:
        kind = "DatabaseNotFound" if isinstance(error, DatabaseNotFound) else "ConnectionError"
        return {"error": kind, "message": redact(str(error))}
    except Exception as error:  # of a driver: they share no type
        return {"error": "DriverError", "message": redact(f"{type(error).__name__}: {error}")}


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    take_secrets()
    server = administrator()
    serve(Path(text_env("DB_ADMIN_SOCKET")), lambda line: answer(server, line))


def administrator() -> Administrator | JobError:
    """The server; or why this environment cannot be used, for the Job to report."""
    try:
        settings = AdminSettings()
        is_mariadb = settings.db_type == "mariadb"
        return MariaDBAdministrator(settings) if is_mariadb else PostgresAdministrator(settings)
    except JobError as error:
        return error


if __name__ == "__main__":
    main()
