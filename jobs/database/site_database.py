"""The database servers, by the driver that the framework itself uses (PyMySQL, mysqlclient, psycopg2).

Names are checked identifiers (see site_common) and quoted; passwords are bound or escaped by the driver. The framework's
own setup is not used: on PostgreSQL it drops the database first, and on MariaDB it scopes the user to the Job's pod.
"""

import os
import re
import shutil
import subprocess
import time

from site_common import Refused, redact, say

# What a managed MariaDB's administrator may grant when "ALL" is denied; the framework's own list for that case.
REDUCED_GRANTS = (
    "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER, CREATE TEMPORARY TABLES, CREATE VIEW, EVENT, TRIGGER, "
    "SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EXECUTE, LOCK TABLES"
)


class Denied(Exception):
    """The server answered and refused this login (or this login's access to the database)."""


class NoDatabase(Exception):
    """The server has no such database."""


def server(settings):
    return (MariaDB if settings.db_type == "mariadb" else Postgres)(settings)


class Server:
    """One connection at a time; each method opens what it needs and closes it."""

    def __init__(self, settings):
        self.settings = settings

    @property
    def address(self):
        return f"{self.settings.db_host}:{self.settings.db_port}"

    def wait(self):
        """Until the server answers this Job's login; the deadline's message says what is wrong."""
        s, deadline = self.settings, time.monotonic() + self.settings.wait_seconds
        while True:
            try:
                (self.as_root() if s.has_root else self.as_user(None)).close()
                return
            except Denied as error:
                who = s.root_user if s.has_root else s.db_user
                problem = Refused("DatabaseAccessDenied", f"{self.address} refuses {who}: {error}")
            except NoDatabase as error:
                problem = Refused("DatabaseMissing", f"{self.address}: {error}")
            except ConnectionError as error:
                problem = Refused("DatabaseUnreachable", f"{self.address}: {error}")
            if time.monotonic() >= deadline:
                raise problem
            say(f"waiting for the database: {problem.reason}: {problem}")
            time.sleep(2)

    def seconds_up(self):
        """How long the server has been running."""
        connection = self.as_root() if self.settings.has_root else self.as_user(None)
        try:
            return float(self.query(connection, self.UPTIME)[0][0])
        finally:
            connection.close()

    def user_can_connect(self):
        try:
            self.as_user(self.settings.db_password).close()
            return True
        except (Denied, NoDatabase):
            return False

    def tables(self):
        """Tables and views in the site's database, seen by the site's own user."""
        connection = self.as_user(None)
        try:
            return self.query(connection, self.LIST_TABLES)
        finally:
            connection.close()

    def quietly(self, connection, statement, *arguments):
        """A statement that a managed server's administrator may be denied, and that the rest can do without."""
        try:
            self.query(connection, statement, *arguments)
        except Exception as error:
            say(f"{statement}: {error}")

    def wait_until_unused(self, seconds):
        """
        Until nobody else is connected to the site's database; whoever still is after that time is put out. The framework keeps no
        connections: one that sleeps is a request or a job between two statements.
        """
        connection, deadline = self.as_user(None), time.monotonic() + seconds
        try:
            while others := [row[0] for row in self.query(connection, self.LIST_OTHERS)]:
                if time.monotonic() >= deadline:
                    say(f"ending {len(others)} connections to {self.settings.db_name}")
                    for other in others:
                        self.quietly(connection, self.END_OTHER, other)
                    return
                time.sleep(0.5)
        finally:
            connection.close()

    def dump(self, file):
        """Writes the whole database as SQL, as it was at one moment. By the server's own client, as the site's user."""
        program, arguments = self.client("dump", "BackupFailed")
        self.pipe([program, *arguments], "BackupFailed", lambda process: shutil.copyfileobj(process.stdout, file, 1 << 20), stdout=subprocess.PIPE)

    def load(self, file):
        """Runs a dump in the empty database, by whatever version of the client and as whichever user it was made."""
        program, arguments = self.client("shell", "RestoreFailed")
        arguments[-1:-1] = self.confinement(program)

        def feed(process):
            try:
                for line in self.statements(file):
                    process.stdin.write(line)
                process.stdin.close()
            except BrokenPipeError:
                pass  # its exit code and last words say why

        self.pipe([program, *arguments], "RestoreFailed", feed, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    @staticmethod
    def confinement(_program):
        """Arguments that keep a dump from being a program for the shell."""
        return []

    def client(self, what, reason):
        """A client program and its arguments; the password is in its environment."""
        names, arguments = self.CLIENTS[what]
        program = next(filter(None, map(shutil.which, names)), None)
        if program is None:
            raise Refused(reason, f"the image has none of: {', '.join(names)}")
        s = self.settings
        values = {"host": s.db_host, "port": s.db_port, "user": s.db_user, "name": s.db_name}
        return program, [argument.format(**values) for argument in arguments]

    def pipe(self, command, reason, work, **pipes):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("FRAPPE_", "MYSQL", "PG"))}
        env[self.PASSWORD_VARIABLE] = self.settings.db_password
        # A file: a full pipe of messages would stop the program.
        with open(os.memfd_create("messages"), "w+b") as messages:
            process = subprocess.Popen(command, env=env, stderr=messages, **{"stdin": subprocess.DEVNULL, **pipes})
            try:
                work(process)
            except BaseException:
                process.kill()
                raise
            finally:
                code = process.wait()
            messages.seek(0)
            said = redact(messages.read().decode(errors="replace")).strip().splitlines()
        if code:
            raise Refused(reason, " | ".join(said[-3:]) or f"{command[0]}: exit code {code}")

    @staticmethod
    def query(connection, statement, *arguments):
        with connection.cursor() as cursor:
            cursor.execute(statement, arguments or None)
            return list(cursor.fetchall()) if cursor.description else []


class MariaDB(Server):
    LIST_TABLES = "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()"
    LIST_OTHERS = (
        "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID() "
        "AND USER = SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"
    )
    END_OTHER = "KILL %s"
    UPTIME = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'UPTIME'"
    PASSWORD_VARIABLE = "MYSQL_PWD"
    CLIENTS = {
        "dump": (
            ("mariadb-dump", "mysqldump"),
            ("--no-defaults", "--host={host}", "--port={port}", "--protocol=tcp", "--user={user}", "--single-transaction", "--quick",
             "--hex-blob", "--max-allowed-packet=1G", "--default-character-set=utf8mb4", "{name}"),
        ),
        "shell": (
            ("mariadb", "mysql"),
            ("--no-defaults", "--host={host}", "--port={port}", "--protocol=tcp", "--user={user}", "--max-allowed-packet=1G",
             "--default-character-set=utf8mb4", "--batch", "--init-command=SET foreign_key_checks = 0", "{name}"),
        ),
    }  # fmt: skip

    @staticmethod
    def confinement(program):
        options = subprocess.run([program, "--no-defaults", "--help"], stdin=subprocess.DEVNULL, capture_output=True).stdout
        return ["--sandbox"] if b"--sandbox" in options else []

    @staticmethod
    def statements(file):
        """A dump without what only newer clients understand. Texts have no line ends in it."""
        return (line for line in file if not line.startswith(b"/*M!999999"))

    def connect(self, user, password, database):
        try:
            import MySQLdb as driver
        except ImportError:
            import pymysql as driver
        options = {"database": database} if database else {}
        try:
            return driver.connect(
                host=self.settings.db_host, port=self.settings.db_port, user=user, password=password,
                charset="utf8mb4", autocommit=True, connect_timeout=5, **options,
            )  # fmt: skip
        except driver.MySQLError as error:
            code, text = (*error.args, "")[:2] if error.args else (0, error)
            if code in (1044, 1045, 1698, 1130):
                raise Denied(text) from None
            if code == 1049:
                raise NoDatabase(text) from None
            raise ConnectionError(text or error) from None

    def as_root(self):
        connection = self.connect(self.settings.root_user, self.settings.root_password, None)
        self.query(connection, "SET SESSION lock_wait_timeout = 60")
        return connection

    def as_user(self, password):
        s = self.settings
        return self.connect(s.db_user, password or s.db_password, s.db_name)

    def exists(self):
        root = self.as_root()
        try:
            name = self.settings.db_name
            return bool(self.query(root, "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s", name))
        finally:
            root.close()

    def create(self):
        """Database, user for any host, rights on exactly this database. Each step may have been done before."""
        s, root = self.settings, self.as_root()
        try:
            self.query(
                root, f"CREATE DATABASE IF NOT EXISTS `{s.db_name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"
            )
            self.ensure_user(root)
        finally:
            root.close()

    def ensure_user(self, root):
        s = self.settings
        others = self.query(
            root,
            "SELECT TABLE_SCHEMA FROM information_schema.SCHEMA_PRIVILEGES WHERE GRANTEE LIKE %s AND "
            "REPLACE(TABLE_SCHEMA, '\\\\', '') <> %s LIMIT 1",
            f"'{s.db_user.replace('_', chr(92) + '_')}'@%",
            s.db_name,
        )
        if others:
            raise Refused("DatabaseUserExists", f"the user {s.db_user} has rights on another database, {others[0][0]}")
        self.query(root, f"CREATE USER IF NOT EXISTS '{s.db_user}'@'%%' IDENTIFIED BY %s", s.db_password)
        self.query(root, f"ALTER USER '{s.db_user}'@'%%' IDENTIFIED BY %s", s.db_password)
        # In a grant `_` stands for any character: unescaped, the site could read its neighbours' databases.
        database = s.db_name.replace("_", "\\_")
        try:
            self.query(root, f"GRANT ALL PRIVILEGES ON `{database}`.* TO '{s.db_user}'@'%'")
        except Exception as error:
            if not error.args or error.args[0] not in (1044, 1045, 1227):
                raise
            self.query(root, f"GRANT {REDUCED_GRANTS} ON `{database}`.* TO '{s.db_user}'@'%'")

    def set_user_password(self):
        root = self.as_root()
        try:
            self.ensure_user(root)
        finally:
            root.close()

    def drop(self):
        """The database, then the user at every host: restores leave users at a pod's IP behind."""
        s, root = self.settings, self.as_root()
        try:
            # An open transaction, of a worker that is just being ended, would hold up the drop.
            for (process,) in self.query(
                root, "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = %s AND ID <> CONNECTION_ID()", s.db_name
            ):
                self.quietly(root, "KILL %s", process)
            self.query(root, f"DROP DATABASE IF EXISTS `{s.db_name}`")
            hosts = {row[0] for row in self.query(root, "SELECT Host FROM mysql.user WHERE User = %s", s.db_user)}
            for host in sorted(hosts | {"%"}):
                self.query(root, f"DROP USER IF EXISTS '{s.db_user}'@%s", host)
        finally:
            root.close()

    def empty(self):
        """Every table and view, by the site's own user: for a prepared database."""
        connection = self.as_user(None)
        try:
            self.query(connection, "SET SESSION foreign_key_checks = 0")
            for name, kind in self.query(connection, self.LIST_TABLES):
                what = {"VIEW": "VIEW", "SEQUENCE": "SEQUENCE"}.get(kind, "TABLE")
                self.query(connection, f"DROP {what} IF EXISTS `{name.replace('`', '``')}`")
        finally:
            connection.close()


class Postgres(Server):
    LIST_TABLES = (
        "SELECT c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'S')"
    )
    LIST_OTHERS = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"
    )
    END_OTHER = "SELECT pg_terminate_backend(%s)"
    UPTIME = "SELECT EXTRACT(EPOCH FROM now() - pg_postmaster_start_time())"
    PASSWORD_VARIABLE = "PGPASSWORD"
    LOGIN = ("--host={host}", "--port={port}", "--username={user}", "--no-password")
    CLIENTS = {
        "dump": (("pg_dump",), (*LOGIN, "--no-owner", "--no-acl", "--schema=public", "--encoding=UTF8", "{name}")),
        "shell": (("psql",), (*LOGIN, "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", "{name}")),
    }
    # The schema is there, and belongs to the server's administrator; all else belongs to the site's user.
    NOT_OURS = re.compile(
        rb"\\(un)?restrict|CREATE SCHEMA public;|COMMENT ON SCHEMA public |SET transaction_timeout|GRANT |REVOKE |ALTER DEFAULT PRIVILEGES |"
        rb"ALTER [A-Z ]+ .* OWNER TO "
    )

    @classmethod
    def statements(cls, file):
        """A dump without what only newer clients understand, and what only its own user may do. Rows are left as they are."""
        rows = False
        for line in file:
            if rows:
                rows = line.rstrip() != b"\\."
            elif line.startswith(b"COPY ") and line.rstrip().endswith(b" FROM stdin;"):
                rows = True
            elif cls.NOT_OURS.match(line):
                continue
            yield line

    def connect(self, user, password, database):
        import psycopg2

        try:
            connection = psycopg2.connect(
                host=self.settings.db_host, port=self.settings.db_port, user=user, password=password,
                dbname=database, connect_timeout=5,
            )  # fmt: skip
        except psycopg2.OperationalError as error:
            text = str(error)
            if "password authentication failed" in text or "no pg_hba.conf entry" in text or "permission denied" in text:
                raise Denied(text) from None
            if "does not exist" in text:
                raise (NoDatabase if "database " in text else Denied)(text) from None
            raise ConnectionError(text) from None
        connection.autocommit = True
        return connection

    def as_root(self):
        s = self.settings
        try:
            return self.connect(s.root_user, s.root_password, "postgres")
        except NoDatabase:
            return self.connect(s.root_user, s.root_password, s.root_user)

    def as_user(self, password):
        s = self.settings
        return self.connect(s.db_user, password or s.db_password, s.db_name)

    def exists(self):
        root = self.as_root()
        try:
            return bool(self.query(root, "SELECT 1 FROM pg_database WHERE datname = %s", self.settings.db_name))
        finally:
            root.close()

    def create(self):
        s, root = self.settings, self.as_root()
        try:
            self.ensure_user(root)
            if not self.query(root, "SELECT 1 FROM pg_database WHERE datname = %s", s.db_name):
                self.query(root, f"CREATE DATABASE \"{s.db_name}\" TEMPLATE template0 ENCODING 'UTF8'")
            # An administrator that is no superuser must be a member of the role to hand the database over.
            self.quietly(root, f'GRANT "{s.db_user}" TO CURRENT_USER')
            self.query(root, f'ALTER DATABASE "{s.db_name}" OWNER TO "{s.db_user}"')
            # By default every role of the server may connect to every database.
            self.query(root, f'REVOKE ALL ON DATABASE "{s.db_name}" FROM PUBLIC')
        finally:
            root.close()

    def ensure_user(self, root):
        s = self.settings
        others = self.query(
            root,
            "SELECT d.datname FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba WHERE r.rolname = %s AND d.datname <> %s",
            s.db_user,
            s.db_name,
        )
        if others:
            raise Refused("DatabaseUserExists", f"the user {s.db_user} owns another database, {others[0][0]}")
        known = self.query(root, "SELECT 1 FROM pg_roles WHERE rolname = %s", s.db_user)
        self.query(root, f'{"ALTER" if known else "CREATE"} ROLE "{s.db_user}" WITH LOGIN PASSWORD %s', s.db_password)

    def set_user_password(self):
        root = self.as_root()
        try:
            self.ensure_user(root)
        finally:
            root.close()

    def drop(self):
        s, root = self.settings, self.as_root()
        try:
            if self.query(root, "SELECT 1 FROM pg_database WHERE datname = %s", s.db_name):
                self.quietly(root, f'GRANT "{s.db_user}" TO CURRENT_USER')
                self.query(root, f'REVOKE CONNECT ON DATABASE "{s.db_name}" FROM PUBLIC')
                self.query(root, f'ALTER DATABASE "{s.db_name}" WITH CONNECTION LIMIT 0')
                self.query(root, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", s.db_name)
                self.query(root, f'DROP DATABASE IF EXISTS "{s.db_name}"')
            self.query(root, f'DROP ROLE IF EXISTS "{s.db_user}"')
        finally:
            root.close()

    def empty(self):
        connection = self.as_user(None)
        try:
            kinds = {"v": "VIEW", "m": "MATERIALIZED VIEW", "S": "SEQUENCE"}
            for name, kind in sorted(self.query(connection, self.LIST_TABLES), key=lambda row: row[1] == "S"):
                quoted = '"' + name.replace('"', '""') + '"'
                self.query(connection, f"DROP {kinds.get(kind, 'TABLE')} IF EXISTS public.{quoted} CASCADE")
        finally:
            connection.close()
