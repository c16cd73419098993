"""The server that has a site's database."""

from collections.abc import Iterable
from secrets import token_urlsafe

from database_server import Server
from job_environment import address_of
from job_result import JobError
from mariadb_server import MariaDB
from postgres_server import Postgres
from site_state import SiteSettings, recorded_database


def database_server(settings: SiteSettings) -> Server:
    return MariaDB(settings) if settings.db_type == "mariadb" else Postgres(settings)


def check_recorded_server(
    settings: SiteSettings, database: Server, passwords: Iterable[str], otherwise: str = ""
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
    address = address_of(host, port)
    problem = f"refuses the site's password for {settings.db_user}"
    if any(database.accepts_password(password) for password in passwords if password):
        if not database.accepts_password(token_urlsafe(32)):
            return True
        problem = f"accepts any password for {settings.db_user}"
    raise JobError(
        "DatabaseServerMismatch",
        f"the database {settings.db_name} of {settings.site_name} is on {address}, and "
        f"{database.address} {problem}: its database may belong to another site; "
        f"nothing was touched; set the server back to {address}{otherwise}",
    )
