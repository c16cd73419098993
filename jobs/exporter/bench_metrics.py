"""Exports metrics of a bench's queues and database servers to Prometheus, on GET /metrics.

A request collects the samples, and following requests get the same ones for a few seconds. The
addresses and logins of Redis and of the databases are in files on the bench's volume. Each
collection reads these files, so it finds new sites and passwords, and needs no rights in the
cluster. A server that does not answer has no samples except `*_up`.

Code of a site can write to these files and to Redis. Files are read up to a size, and neither a
link nor a FIFO. A bench has a greatest number of servers and queues within an hour, since
Prometheus keeps the series of each: `app_metrics_omitted` counts the others.

Environment
  NAMESPACE, BENCH   labels of every series, and the prefix of the bench's queues:
                     `<namespace>.<bench>`
  BENCH_DIR          the bench
  LISTEN_PORT        the port of the HTTP server
  CACHE_SECONDS      how long samples are cached (default 5)

The database series have the names of mysqld_exporter and postgres_exporter. A site's own user can
read the values.
"""

import os
import random
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from database_tls import CONFIG_KEY, tls_of
from job_environment import address_of, bench_dir
from job_result import JobError
from operator_constants import (
    COMMON_CONFIG_FILE,
    MARIADB_PORT,
    METRICS_PORT,
    POSTGRES_PORT,
    QUEUE_KEY,
    QUEUES,
)
from volume_files import names_in, read_json_value

CONNECT_SECONDS = 3
ANSWER_SECONDS = 5
# Prometheus' default timeout is 10 s.
COLLECT_SECONDS = 8
# A site that is being created, or whose creation failed, has no database. So several sites' logins
# are tried on a server.
LOGINS = 3
DEFAULT_PORTS = {"mariadb": MARIADB_PORT, "postgres": POSTGRES_PORT}
# Servers and queues of a bench within MEMORY_SECONDS: 3 series for a server, 4 for a queue. The
# ServiceMonitor has a limit above their sum.
MOST_SERVERS = 250
MOST_QUEUES = 2_000
MEMORY_SECONDS = 3_600
# Sites whose files are read, and the bytes of all of them.
MOST_SITES = 5_000
MOST_BYTES = 64 << 20
HOST = re.compile(r"[A-Za-z0-9._:%\[\]-]{1,253}")
LONGEST_QUEUE = 128
TOO_MANY_CONNECTIONS = {"mariadb": 1040, "postgres": "53300"}

# Name → help text. All series are gauges.
SERIES = {
    "app_worker_queue_length": (
        "Jobs that wait in a queue. `site` is empty for the queues of the bench's Shared sites."
    ),
    "app_worker_jobs_running": "Jobs of a queue that a worker runs.",
    "app_worker_jobs_failed": "Failed jobs of a queue that the framework still keeps.",
    "app_workers": "Workers that listen to a queue.",
    "app_metrics_omitted": "Servers and queues without series: the bench has too many.",
    "redis_up": "Whether the queues' Redis answers.",
    "mysql_up": "Whether the MariaDB server answers a site's login.",
    "mysql_global_status_threads_connected": "Open connections of the MariaDB server.",
    "mysql_global_variables_max_connections": "Connections that the MariaDB server allows.",
    "pg_up": "Whether the PostgreSQL server answers a site's login.",
    "pg_stat_activity_count": "Connections of clients to the PostgreSQL server.",
    "pg_settings_max_connections": "Connections that the PostgreSQL server allows.",
}
SERVER_SERIES = {
    "mariadb": (
        "mysql_up",
        "mysql_global_status_threads_connected",
        "mysql_global_variables_max_connections",
    ),
    "postgres": ("pg_up", "pg_stat_activity_count", "pg_settings_max_connections"),
}

# A site's user cannot read the type of another user's process. Background workers have no user.
POSTGRES_CONNECTIONS = """
SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity
WHERE datid IS NOT NULL AND usesysid IS NOT NULL
"""

Config = dict[str, Any]
Login = dict[str, Any]
Sample = tuple[str, dict[str, str], int]
# Type, host and port.
ServerKey = tuple[str, str, int]
# Key of a collection that runs in a thread: a server, or None for the queues' Redis.
SourceKey = ServerKey | None


class TooManyConnections(Exception):
    """The server refuses a login because all its connections are in use."""


def read_json(path: Path) -> Config:
    """The object in a file; {} if it cannot be read, for example while it is written."""
    try:
        value = read_json_value(path)
    except (OSError, ValueError, JobError):
        return {}
    return value if isinstance(value, dict) else {}


def site_configs(sites: Path) -> list[Config]:
    """The configuration of each site, in the order of their names."""
    configs: list[Config] = []
    left = MOST_BYTES
    for name in names_in(sites)[:MOST_SITES]:
        path = sites / name / "site_config.json"
        try:
            size = os.lstat(path).st_size
        except OSError:
            continue
        left -= size
        if left < 0:
            break
        if config := read_json(path):
            configs.append(config)
    return configs


class Names:
    """The names of one kind that have series, at most so many within MEMORY_SECONDS.

    Prometheus keeps a series for days: the names that are gone count too.
    """

    def __init__(self, kind: str, most: int) -> None:
        self.kind, self.most = kind, most
        self.seen: dict[Any, float] = {}
        self.omitted = 0

    def admit(self, names: Iterable[Any]) -> set[Any]:
        """Those that get series, the first ones first."""
        now = time.monotonic()
        self.seen = {name: at for name, at in self.seen.items() if now - at < MEMORY_SECONDS}
        admitted, omitted = set(), 0
        for name in names:
            if name in self.seen or len(self.seen) < self.most:
                self.seen[name] = now
                admitted.add(name)
            else:
                omitted += 1
        if omitted and not self.omitted:
            print(
                f"app-operator: more than {self.most} {self.kind}: some have no series", flush=True
            )
        self.omitted = omitted
        return admitted

    def sample(self) -> Sample:
        return "app_metrics_omitted", {"of": self.kind}, self.omitted


class Queues:
    """The queues of the bench and of its Dedicated sites, by the keys of the rq package."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.names = Names("queues", MOST_QUEUES)
        self.redis: Any = None
        self.url: str | None = None

    def site_of(self, name: str) -> str | None:
        """The AppSite of a queue, "" for a queue of the bench.

        None for a queue of another bench, or of a closed site.
        """
        prefix = name.rpartition(":")[0]
        if prefix == self.prefix:
            return ""
        start = f"{self.prefix}."
        site = prefix.removeprefix(start) if prefix.startswith(start) else ""
        return site if site and "." not in site else None

    def connection(self, url: str) -> Any:
        import redis

        if url != self.url:
            self.redis = redis.from_url(
                url,
                socket_timeout=ANSWER_SECONDS,
                socket_connect_timeout=CONNECT_SECONDS,
                decode_responses=True,
            )
            self.url = url
        return self.redis

    def collect(self, common: Config, configs: Sequence[Config]) -> Iterator[Sample]:
        """Samples of every queue. A queue of a deleted site has samples while jobs wait in it."""
        redis, now = self.connection(common["redis_queue"]), time.time()
        # The bench's own queues, as the framework reads them.
        workers = common.get("workers")
        queues = {*QUEUES, *(workers if isinstance(workers, dict) else ())}
        site_prefixes = (str(config["bench_id"]) for config in configs if config.get("bench_id"))
        current = {
            f"{prefix}:{queue}" for prefix in {self.prefix, *site_prefixes} for queue in queues
        }
        start = f"{QUEUE_KEY}{self.prefix}"
        keys = redis.smembers("rq:queues")
        known = {key.removeprefix(QUEUE_KEY) for key in keys if key.startswith(start)}
        # The bench's own ones come first.
        wanted = sorted(
            (name for name in current | known if self.site_of(name) is not None),
            key=lambda name: (self.site_of(name) != "", name not in current, name),
        )
        names = sorted(self.names.admit(name for name in wanted if len(name) <= LONGEST_QUEUE))
        pipe = redis.pipeline(transaction=False)
        for name in names:
            pipe.llen(f"{QUEUE_KEY}{name}")
            # The job of a killed worker counts until its lease ends. Some jobs have no lease.
            pipe.zcount(f"rq:wip:{name}", now, "+inf")
            pipe.zcount(f"rq:wip:{name}", "-inf", 0)
            pipe.zcard(f"rq:failed:{name}")
            pipe.smembers(f"rq:workers:{name}")
        answers = pipe.execute()
        rows = [answers[start : start + 5] for start in range(0, len(answers), 5)]
        alive = self.alive(redis, {worker for row in rows for worker in row[4]})
        for name, row in zip(names, rows, strict=True):
            waiting, leased, without_lease, failed, workers = row
            if name not in current and waiting == 0:
                continue
            labels = {"site": self.site_of(name) or "", "queue": name.rpartition(":")[2]}
            yield "app_worker_queue_length", labels, waiting
            yield "app_worker_jobs_running", labels, leased + without_lease
            yield "app_worker_jobs_failed", labels, failed
            yield "app_workers", labels, len(alive & workers)
        yield self.names.sample()

    @staticmethod
    def alive(redis: Any, workers: set[str]) -> set[str]:
        """The workers that have a key: a killed worker stays in the sets, and its key expires."""
        ordered = sorted(workers)
        pipe = redis.pipeline(transaction=False)
        for worker in ordered:
            pipe.exists(worker)
        return {worker for worker, exists in zip(ordered, pipe.execute(), strict=True) if exists}


def mysql_driver() -> Any:
    try:
        import pymysql

        return pymysql
    except ImportError:
        import MySQLdb

        return MySQLdb


def mariadb_connections(login: Login) -> tuple[int, int]:
    """(open, allowed) connections of a MariaDB server, by the driver that the image has."""
    driver, tls = mysql_driver(), tls_of(login.get("tls"))
    address = {key: login[key] for key in ("host", "port", "user")}
    # mysqlclient has no other name in all its versions.
    address["passwd" if driver.__name__ == "MySQLdb" else "password"] = login["password"]
    try:
        timeouts = {"connect_timeout": CONNECT_SECONDS, "read_timeout": ANSWER_SECONDS}
        if tls is None:
            connection = driver.connect(**address, **timeouts)
        else:
            connection = tls.connect_mysql(driver, **address, **timeouts)
    except driver.MySQLError as error:
        if error.args and error.args[0] == TOO_MANY_CONNECTIONS["mariadb"]:
            raise TooManyConnections from None
        raise
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
            connected = int(cursor.fetchone()[1])
            cursor.execute("SELECT @@GLOBAL.max_connections")
            return connected, int(cursor.fetchone()[0])
    finally:
        connection.close()


def postgres_connections(login: Login) -> tuple[int, int]:
    """(open, allowed) connections of a PostgreSQL server.

    The connection is closed at once: an open one would prevent a DROP DATABASE.
    """
    import psycopg2

    address = {key: login[key] for key in ("host", "port", "user", "password")}
    tls = tls_of(login.get("tls"))
    encryption = {} if tls is None else tls.libpq()
    try:
        connection = psycopg2.connect(
            **encryption,
            dbname=login["name"],
            connect_timeout=CONNECT_SECONDS,
            options=f"-c statement_timeout={ANSWER_SECONDS * 1000}",
            **address,
        )
    except psycopg2.OperationalError as error:
        # The driver has no code for a refused login.
        texts = ("too many clients already", "remaining connection slots are reserved")
        has_code = error.pgcode == TOO_MANY_CONNECTIONS["postgres"]
        if has_code or any(text in str(error) for text in texts):
            raise TooManyConnections from None
        raise
    try:
        with connection.cursor() as cursor:
            cursor.execute(POSTGRES_CONNECTIONS)
            connected, allowed = cursor.fetchone()
            return int(connected), int(allowed)
    finally:
        connection.close()


class Databases:
    """The database servers of the bench's sites."""

    COUNT: ClassVar[dict[str, Callable[[Login], tuple[int, int]]]] = {
        "mariadb": mariadb_connections,
        "postgres": postgres_connections,
    }

    def __init__(self) -> None:
        self.names = Names("servers", MOST_SERVERS)
        self.allowed: dict[ServerKey, int] = {}
        # The database of the last login that succeeded.
        self.last_login: dict[ServerKey, str] = {}

    @staticmethod
    def servers(common: Config, configs: Sequence[Config]) -> dict[ServerKey, list[Login]]:
        """The logins of each server's sites, without sites whose configuration is invalid."""
        found: dict[ServerKey, list[Login]] = {}
        for config in configs:
            merged = {**common, **config}
            kind, name = str(merged.get("db_type") or "mariadb"), merged.get("db_name")
            if kind not in DEFAULT_PORTS or not name or not merged.get("db_password"):
                continue
            try:
                port = int(merged.get("db_port") or DEFAULT_PORTS[kind])
            except (TypeError, ValueError, OverflowError):
                continue
            host = str(merged.get("db_host") or "127.0.0.1")
            if not HOST.fullmatch(host) or not 0 < port < 65536:
                continue
            login = {
                "host": host,
                "port": port,
                "user": str(merged.get("db_user") or name),
                "password": str(merged["db_password"]),
                "name": str(name),
                "tls": merged.get(CONFIG_KEY),
            }
            found.setdefault((kind, host, port), []).append(login)
        return found

    def admitted(self, common: Config, configs: Sequence[Config]) -> dict[ServerKey, list[Login]]:
        """The servers that get series: the ones of most sites first."""
        found = self.servers(common, configs)
        ordered = sorted(found, key=lambda server: (-len(found[server]), server))
        admitted = self.names.admit(ordered)
        return {server: found[server] for server in ordered if server in admitted}

    def choose(self, server: ServerKey, logins: Sequence[Login]) -> list[Login]:
        """The login that succeeded last, and a random choice of the others."""
        last = self.last_login.get(server)
        known = [login for login in logins if login["name"] == last]
        others = [login for login in logins if login not in known]
        return (known + random.sample(others, min(LOGINS, len(others))))[:LOGINS]

    def collect(self, server: ServerKey, logins: Sequence[Login]) -> list[Sample]:
        """Samples of one server."""
        kind, host, port = server
        up, connected, allowed = SERVER_SERIES[kind]
        labels = {"server": address_of(host, port)}
        last: Exception | None = None
        for login in self.choose(server, logins):
            try:
                open_connections, self.allowed[server] = self.COUNT[kind](login)
            except TooManyConnections:
                if server not in self.allowed:
                    return [(up, labels, 0)]  # the maximum is not known
                open_connections = self.allowed[server]
            except Exception as error:
                last = error
                continue
            self.last_login[server] = login["name"]
            log_change(f"{kind} {address_of(host, port)}", None)
            return [
                (up, labels, 1),
                (connected, labels, open_connections),
                (allowed, labels, self.allowed[server]),
            ]
        log_change(f"{kind} {address_of(host, port)}", last)
        return [(up, labels, 0)]


# Server → class of the error that was logged last.
logged_errors: dict[str, str | None] = {}


def log_change(server: str, error: Exception | None) -> None:
    """Logs when a server fails or recovers. Not the error's text: it may contain a login."""
    name = type(error).__name__ if error else None
    if logged_errors.get(server) == name:
        return
    logged_errors[server] = name
    state = f"does not answer: {name}" if name else "answers"
    print(f"app-operator: {server} {state}", flush=True)


class Collector:
    """Collects the samples, and caches them for concurrent requests."""

    def __init__(self, sites: Path, namespace: str, bench: str, cache_seconds: float) -> None:
        self.sites = sites
        self.cache_seconds = cache_seconds
        self.labels = {"namespace": namespace, "bench": bench}
        self.queues = Queues(f"{namespace}.{bench}")
        self.databases = Databases()
        self.lock = threading.Lock()
        self.pool = ThreadPoolExecutor(8)
        self.collections = ThreadPoolExecutor(1)
        self.collection: Future[str] | None = None
        self.collected_at = 0.0
        # A collection that hangs is not started again.
        self.running: dict[SourceKey, Future[list[Sample]]] = {}

    def exposition(self) -> str:
        """The newest samples. TimeoutError: a collection hangs."""
        with self.lock:
            age = time.monotonic() - self.collected_at
            if self.collection is None or (self.collection.done() and age >= self.cache_seconds):
                self.collection = self.collections.submit(self.collected)
            collection = self.collection
        if not wait([collection], timeout=COLLECT_SECONDS + 1).done:
            raise TimeoutError
        return collection.result()

    def collected(self) -> str:
        try:
            return self.render(self.collect())
        finally:
            self.collected_at = time.monotonic()

    def sources(self) -> dict[SourceKey, Callable[[], list[Sample]]]:
        common = read_json(self.sites / COMMON_CONFIG_FILE)
        configs = site_configs(self.sites)
        sources: dict[SourceKey, Callable[[], list[Sample]]] = {
            None: partial(self.collect_queues, common, configs)
        }
        for server, logins in self.databases.admitted(common, configs).items():
            sources[server] = partial(self.databases.collect, server, logins)
        return sources

    def collect(self) -> list[Sample]:
        sources = self.sources()
        for key, source in sources.items():
            if key not in self.running or self.running[key].done():
                self.running[key] = self.pool.submit(source)
        self.running = {key: self.running[key] for key in sources}
        wait(self.running.values(), timeout=COLLECT_SECONDS)
        samples: list[Sample] = [self.databases.names.sample()]
        for key, future in self.running.items():
            samples += future.result() if future.done() else [unanswered(key)]
        return samples

    def collect_queues(self, common: Config, configs: Sequence[Config]) -> list[Sample]:
        server = "the queues' Redis"
        labels = {"server": "queue"}
        try:
            samples = list(self.queues.collect(common, configs))
        except Exception as error:
            log_change(server, error)
            return [("redis_up", labels, 0)]
        log_change(server, None)
        return [("redis_up", labels, 1), *samples]

    def render(self, samples: Sequence[Sample]) -> str:
        """The text format of Prometheus, which groups the samples of a series."""
        lines: list[str] = []
        for name, help_text in SERIES.items():
            same = [(labels, value) for sample, labels, value in samples if sample == name]
            if same:
                lines += [f"# HELP {name} {help_text}", f"# TYPE {name} gauge"]
            for labels, value in same:
                lines.append(f"{name}{{{label_text({**self.labels, **labels})}}} {value}")
        return "".join(f"{line}\n" for line in lines)


def unanswered(key: SourceKey) -> Sample:
    """The sample of a server whose collection has not ended."""
    if key is None:
        return "redis_up", {"server": "queue"}, 0
    kind, host, port = key
    return SERVER_SERIES[kind][0], {"server": address_of(host, port)}, 0


def label_text(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{escape(value)}"' for name, value in labels.items())


def escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Handler(BaseHTTPRequestHandler):
    # A client that sends nothing must not keep its thread.
    timeout = 30
    collector: Collector

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics":
            content_type = "text/plain; version=0.0.4; charset=utf-8"
            try:
                text = self.collector.exposition()
            except TimeoutError:
                self.answer(503, "the volume or a server does not answer in time\n")
                return
            self.answer(200, text, content_type)
        elif path == "/healthz":
            self.answer(200, "ok\n")
        else:
            self.answer(404, "metrics are at /metrics\n")

    def answer(
        self, status: int, text: str, content_type: str = "text/plain; charset=utf-8"
    ) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """No log line for each request."""


class Server(ThreadingHTTPServer):
    # An IPv6 socket takes connections of IPv4 too. A kernel without IPv6 cannot make one.
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    daemon_threads = True
    request_queue_size = 32

    def handle_error(self, *_: object) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            print(f"app-operator: a request failed: {type(error).__name__}", flush=True)


def main() -> None:
    # Without a handler a process with PID 1 ignores SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    Handler.collector = Collector(
        bench_dir() / "sites",
        os.environ["NAMESPACE"],
        os.environ["BENCH"],
        float(os.environ.get("CACHE_SECONDS") or 5),
    )
    port = int(os.environ.get("LISTEN_PORT") or METRICS_PORT)
    Server(("", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
