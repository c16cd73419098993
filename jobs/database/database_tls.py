"""Encryption of the connections to a database server, without a fallback to clear text.

The operator's own programs use DatabaseTls. In a process of the framework, `encrypt_framework`
makes the framework's connections and its client programs do the same, for each site whose
configuration has the key app_operator_db_tls. The framework itself (version-15) encrypts only
with a client certificate, never its client programs, and never on PostgreSQL. PyMySQL and the
client programs of MariaDB continue in clear text where a server offers no TLS.
"""

import importlib
import os
import re
import socket
import ssl
import struct
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from database_relay import offers_tls, read_packet, start_relay
from job_result import JobError
from operator_constants import MARIADB_PORT

CONFIG_KEY = "app_operator_db_tls"
MODES = ("VerifyFull", "VerifyCA", "Require")
# Names of the files, as in a Secret of type kubernetes.io/tls.
CLIENT_FIELD = "clientCertificateSecretRef"
CA_FILE, CERTIFICATE_FILE, KEY_FILE = "ca.crt", "tls.crt", "tls.key"
LIBPQ_MODES = {"VerifyFull": "verify-full", "VerifyCA": "verify-ca", "Require": "require"}
CLIENT_SSL, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION = 0x800, 0x200, 0x8000
HANDSHAKE_SECONDS, ALERT_SECONDS = 5, 0.5
# OpenSSL's codes of a certificate that is not accepted, and what to do.
EXPIRED, NOT_YET_VALID = 10, 9
HOST_CODES = (62, 64)
ALERT = re.compile(
    r"alert [a-z0-9 ]+|requires a valid client certificate|certificate required", re.IGNORECASE
)
NO_TLS = "the server takes no encrypted connections; nothing was sent in clear text"
TLS_ERROR = re.compile(r"\bSSL\b|\bTLS\b|certificate", re.IGNORECASE)


class TlsFailed(ConnectionError):
    """The encrypted connection cannot be made; waiting does not help."""


@dataclass(frozen=True)
class DatabaseTls:
    """Mode, and the paths of the CA, of the client's certificate and of its key; "" without."""

    mode: str
    ca: str = ""
    cert: str = ""
    key: str = ""

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.mode == "VerifyFull"
        context.verify_mode = ssl.CERT_NONE if self.mode == "Require" else ssl.CERT_REQUIRED
        if self.mode != "Require":
            context.load_verify_locations(cafile=self.ca)
        if self.cert:
            context.load_cert_chain(self.cert, self.key)
        return context

    def files(self) -> dict[str, str]:
        paths = {"ca": self.ca, "cert": self.cert, "key": self.key}
        return {name: path for name, path in paths.items() if path}

    def texts(self) -> dict[str, str]:
        """The contents of a Job's files, which the kubelet has mounted."""
        return {name: Path(path).read_text() for name, path in self.files().items()}

    def libpq(self) -> dict[str, str]:
        """Parameters of a connection by libpq."""
        names = {"ca": "sslrootcert", "cert": "sslcert", "key": "sslkey"}
        given = {names[name]: path for name, path in self.files().items()}
        return {"sslmode": LIBPQ_MODES[self.mode], **given}

    def libpq_env(self) -> dict[str, str]:
        return {f"PG{name.upper()}": value for name, value in self.libpq().items()}

    def mariadb_arguments(self) -> list[str]:
        """Arguments of MariaDB's client programs. Only VerifyFull makes them insist on TLS."""
        verify = "--ssl-verify-server-cert"
        return [
            "--ssl",
            verify if self.mode == "VerifyFull" else f"--skip{verify[1:]}",
            *(f"--ssl-{name}={path}" for name, path in self.files().items()),
        ]

    def mariadb_address(self, host: str, port: int) -> tuple[str, int]:
        """Where the client programs connect: to a relay that lets no clear text through."""
        return (host, port) if self.mode == "VerifyFull" else start_relay(host, port)

    def connect_mysql(self, driver: Any, **options: Any) -> Any:
        """Connects by PyMySQL or mysqlclient."""
        if driver.__name__ != "MySQLdb":
            return encrypted_pymysql(driver)(**{**options, "ssl": self.context()})
        # The arguments of mysqlclient cannot make MariaDB's library check the host name.
        port = int(options.get("port") or MARIADB_PORT)
        host, port = self.mariadb_address(str(options["host"]), port)
        with tempfile.NamedTemporaryFile("w", suffix=".cnf") as file:
            verify = int(self.mode == "VerifyFull")
            lines = ["[client]", "ssl-enforce=1", f"ssl-verify-server-cert={verify}"]
            lines += [f"ssl-{name}={path}" for name, path in self.files().items()]
            file.write("".join(f"{line}\n" for line in lines))
            file.flush()
            files = {"read_default_file": file.name, "read_default_group": "client"}
            connection = driver.connect(**{**options, "host": host, "port": port, **files})
        return require_cipher(driver, connection)

    def config(self) -> dict[str, str]:
        """The value of app_operator_db_tls."""
        return {"mode": self.mode, **self.files()}


def tls_of(value: object) -> DatabaseTls | None:
    """The settings in a site's configuration. An unknown value is an error, never clear text."""
    if not value:
        return None
    if not isinstance(value, Mapping) or value.get("mode") not in MODES:
        raise TlsFailed(f"{CONFIG_KEY} of the site's configuration has an unexpected value")
    return DatabaseTls(
        **{name: str(value.get(name) or "") for name in ("mode", "ca", "cert", "key")}
    )


def encrypted_pymysql(driver: Any) -> Any:
    """PyMySQL's connection, which refuses a server without TLS before it logs in."""

    class EncryptedConnection(driver.connections.Connection):  # type: ignore[misc]
        def _request_authentication(self) -> None:
            if not self.server_capabilities & CLIENT_SSL:
                raise driver.err.OperationalError(2026, NO_TLS)
            super()._request_authentication()

    return EncryptedConnection


def require_cipher(driver: Any, connection: Any) -> Any:
    """The login of a library that ignores an option has been sent, but no data follows."""
    cursor = connection.cursor()
    cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
    if not cursor.fetchone()[1]:
        connection.close()
        raise driver.OperationalError(2026, NO_TLS)
    cursor.close()
    return connection


# --- what is wrong ------------------------------------------------------------------------------


def tls_problem(
    tls: DatabaseTls | None, db_type: str, address: tuple[str, int], error: Exception
) -> str | None:
    """Why an encrypted connection was not made, in words for a user; None for another problem.

    The libraries do not say why they refuse a certificate: the same handshake by Python does.
    """
    if tls is None:
        return None
    cause = handshake_failure(tls, db_type, *address)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return certificate_problem(cause)
    if isinstance(cause, TlsFailed):
        return str(cause)
    text = " ".join(f"{error} {cause or ''}".split())
    if alert := ALERT.search(text):
        return (
            f"the server refuses the client certificate: {alert[0]}; set "
            f"tls.{CLIENT_FIELD} to one that a CA of the server has signed"
        )
    return text if TLS_ERROR.search(text) else None


def certificate_problem(error: ssl.SSLCertVerificationError) -> str:
    what = error.verify_message
    if error.verify_code in HOST_CODES:
        return (
            f"the server's certificate is of another host: {what}; use a host name of the "
            "certificate, or tls.mode VerifyCA"
        )
    if error.verify_code in (EXPIRED, NOT_YET_VALID):
        return f"the server's certificate is not valid now: {what}; renew it"
    return (
        f"the server's certificate is not of the CA in tls.caSecretRef: {what}; put the CA that "
        "signed the certificate into the Secret"
    )


def handshake_failure(tls: DatabaseTls, db_type: str, host: str, port: int) -> Exception | None:
    try:
        with socket.create_connection((host, port), HANDSHAKE_SECONDS) as plain:
            if not asks_for_tls(plain, db_type):
                return TlsFailed(NO_TLS)
            with tls.context().wrap_socket(plain, server_hostname=host) as encrypted:
                # With TLS 1.3 the server checks the client's certificate after the handshake.
                encrypted.settimeout(ALERT_SECONDS)
                with suppress(TimeoutError):
                    encrypted.recv(1)
    except OSError as error:
        return error
    return None


def asks_for_tls(plain: socket.socket, db_type: str) -> bool:
    """Begins a connection. Returns whether the server goes on with a handshake."""
    if db_type == "postgres":
        plain.sendall(struct.pack("!II", 8, 80877103))
        return plain.recv(1) == b"S"
    if not offers_tls(read_packet(plain)):
        return False
    flags = CLIENT_PROTOCOL_41 | CLIENT_SSL | CLIENT_SECURE_CONNECTION
    plain.sendall(struct.pack("<I", 32 | 1 << 24) + struct.pack("<IIB23x", flags, 1 << 24, 45))
    return True


# --- the framework ------------------------------------------------------------------------------


def encrypt_framework() -> None:
    """Encrypts this process' connections of sites whose configuration says so."""
    try:
        import frappe
        import frappe.database as database
    except ModuleNotFoundError as error:
        if error.name != "frappe.database":
            raise
        return  # without this module the framework has no connections

    get_db, get_command = database.get_db, getattr(database, "get_command", None)

    def tls_of_site() -> DatabaseTls | None:
        return tls_of((getattr(frappe.local, "conf", None) or {}).get(CONFIG_KEY))

    def is_of_site(options: Mapping[str, Any]) -> bool:
        """Whether a connection is to a server of the site. Its apps may know others."""
        conf = frappe.local.conf
        return str(options.get("host")) in (str(conf.get("db_host")), str(conf.get("replica_host")))

    def get_encrypted_db(*args: Any, **kwargs: Any) -> Any:
        if tls_of_site() is not None:
            if get_command is None:
                raise TlsFailed("this version of the framework cannot encrypt its connections")
            encrypt_drivers(lambda options: tls_of_site() if is_of_site(options) else None)
        return get_db(*args, **kwargs)

    def get_encrypted_command(*args: Any, **kwargs: Any) -> Any:
        assert get_command is not None
        tls = tls_of_site()
        if tls is not None and is_of_site(kwargs) and frappe.conf.db_type != "postgres":
            port = int(kwargs.get("port") or MARIADB_PORT)
            kwargs["host"], kwargs["port"] = tls.mariadb_address(str(kwargs["host"]), port)
            program, arguments, name = get_command(*args, **kwargs)
            return program, [*tls.mariadb_arguments(), *arguments], name
        program, arguments, name = get_command(*args, **kwargs)
        if tls is not None and is_of_site(kwargs):
            arguments = [with_parameters(argument, tls) for argument in arguments]
        return program, arguments, name

    database.get_db = get_encrypted_db
    if get_command is not None:
        database.get_command = get_encrypted_command


def with_parameters(argument: str, tls: DatabaseTls) -> str:
    """Adds the parameters to the URI of a connection by libpq."""
    if not argument.startswith("postgresql://"):
        return argument
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in tls.libpq().items())
    return f"{argument}{'&' if '?' in argument else '?'}{query}"


Chooser = Callable[[Mapping[str, Any]], DatabaseTls | None]
_encrypted: set[str] = set()


def encrypt_drivers(choose: Chooser) -> None:
    """Wraps `connect` of the drivers that this process has. Again: does nothing."""
    for name in ("pymysql", "MySQLdb", "psycopg2"):
        if name in _encrypted:
            continue
        try:
            driver: Any = importlib.import_module(name)
        except ImportError:
            continue
        _encrypted.add(name)
        driver.connect = encrypted_connect(driver, driver.connect, choose)


def encrypted_connect(driver: Any, connect: Any, choose: Chooser) -> Any:
    def connect_encrypted(*args: Any, **options: Any) -> Any:
        tls = choose(options)
        if tls is None:
            return connect(*args, **options)
        if driver.__name__ == "psycopg2":
            return connect(*args, **{**options, **tls.libpq()})
        return tls.connect_mysql(PlainDriver(driver, connect), **options)

    return connect_encrypted


class PlainDriver:
    """A driver with its own `connect`."""

    def __init__(self, driver: Any, connect: Any) -> None:
        self.driver, self.connect = driver, connect
        self.__name__ = driver.__name__

    def __getattr__(self, name: str) -> Any:
        return getattr(self.driver, name)


def environment_tls() -> DatabaseTls | None:
    """The settings of a Job: DB_TLS_MODE, DB_TLS_CA_DIR and DB_TLS_CLIENT_DIR."""
    mode = os.environ.get("DB_TLS_MODE", "")
    if not mode:
        return None
    if mode not in MODES:
        raise JobError(
            "InvalidInput", f"DB_TLS_MODE must be one of {', '.join(MODES)}, got {mode!r}"
        )
    ca = mounted("DB_TLS_CA_DIR", CA_FILE)
    if mode != "Require" and not ca:
        raise JobError("DatabaseTlsFailed", f"the Secret of tls.caSecretRef has no key {CA_FILE}")
    if not os.environ.get("DB_TLS_CLIENT_DIR"):
        return usable(DatabaseTls(mode, ca))
    cert, key = (mounted("DB_TLS_CLIENT_DIR", name) for name in (CERTIFICATE_FILE, KEY_FILE))
    if not cert or not key:
        names = f"{CERTIFICATE_FILE} or {KEY_FILE}"
        message = f"the Secret of tls.{CLIENT_FIELD} has no key {names}"
        raise JobError("DatabaseTlsFailed", message)
    return usable(DatabaseTls(mode, ca, cert, key))


def usable(tls: DatabaseTls) -> DatabaseTls:
    """Fails where the files are no certificates, or the key is of another one."""
    for part, what in ((DatabaseTls(tls.mode, tls.ca), "caSecretRef"), (tls, CLIENT_FIELD)):
        try:
            part.context()
        except OSError as error:
            message = f"the Secret of tls.{what} cannot be used: {error}"
            raise JobError("DatabaseTlsFailed", message) from None
    return tls


def mounted(variable: str, name: str) -> str:
    """The path of a file of a Secret, "" if it does not exist."""
    path = os.path.join(os.environ.get(variable) or "/nonexistent", name)
    return path if os.path.isfile(path) else ""
