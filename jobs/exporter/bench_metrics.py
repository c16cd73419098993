"""Tells Prometheus what a bench's queues and database servers come to, on GET /metrics.

It looks when it is asked, and not again for a few seconds. The queues' Redis and the sites' databases are those of the files on
the bench's volume, which are read anew each time: it needs no rights of its own and notices new sites and passwords.
A server that does not answer costs its own series only, and `*_up` says so.

Environment
  NAMESPACE, BENCH   labels of every series, and the prefix of the bench's queues: `<namespace>.<bench>`
  BENCH_DIR          the bench (default /home/frappe/frappe-bench)
  LISTEN_PORT        default 9180
  CACHE_SECONDS      how long an answer holds (default 5)

The names of the database series are those of mysqld_exporter and postgres_exporter. A site's own user sees them.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

QUEUES = ("default", "short", "long")
QUEUE_KEY = "rq:queue:"
CONNECT_SECONDS = 3
ANSWER_SECONDS = 5
# Prometheus gives up after 10 s by default.
COLLECT_SECONDS = 8
# A site that is just being made, or whose making has failed, has no database: a server is asked as one of several sites.
LOGINS = 3
DEFAULT_PORTS = {"mariadb": 3306, "postgres": 5432}
TOO_MANY = {"mariadb": 1040, "postgres": "53300"}

# Name → what it says. All are gauges.
SERIES = {
    "app_worker_queue_length": "Jobs that wait in a queue. `site` is empty for the queues of the bench's Shared sites.",
    "app_worker_jobs_running": "Jobs of a queue that a worker has in hand.",
    "app_worker_jobs_failed": "Failed jobs of a queue that the framework still keeps.",
    "app_workers": "Workers that listen to a queue.",
    "redis_up": "Whether the queues' Redis answers.",
    "mysql_up": "Whether the MariaDB server answers a site's login.",
    "mysql_global_status_threads_connected": "Open connections of the MariaDB server.",
    "mysql_global_variables_max_connections": "Connections that the MariaDB server allows.",
    "pg_up": "Whether the PostgreSQL server answers a site's login.",
    "pg_stat_activity_count": "Connections of clients to the PostgreSQL server.",
    "pg_settings_max_connections": "Connections that the PostgreSQL server allows.",
}
NAMES = {
    "mariadb": ("mysql_up", "mysql_global_status_threads_connected", "mysql_global_variables_max_connections"),
    "postgres": ("pg_up", "pg_stat_activity_count", "pg_settings_max_connections"),
}

# A site's user does not see what kind of process another one's is, but whose it is: background workers are nobody's.
POSTGRES_CONNECTIONS = """
SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity WHERE datid IS NOT NULL AND usesysid IS NOT NULL
"""


class Full(Exception):
    """The server has no connection left to tell how many it has."""


def read_json(path):
    """The object in a file; {} where there is none that can be read, as while it is written."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def site_configs(sites):
    """The configuration of each site, in the order of their names."""
    return [config for path in sorted(sites.glob("*/site_config.json")) if (config := read_json(path))]


class Queues:
    """The bench's queues and those of its Dedicated sites, by the keys of the rq package."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.redis = None
        self.url = None

    def owner(self, name):
        """The AppSite whose queue has that name, "" for a queue of the bench, None for another bench's or one set aside."""
        prefix = name.rpartition(":")[0]
        if prefix == self.prefix:
            return ""
        start = f"{self.prefix}."
        site = prefix[len(start):] if prefix.startswith(start) else ""
        return site if site and "." not in site else None

    def connection(self, url):
        import redis

        if url != self.url:
            self.redis = redis.from_url(url, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=CONNECT_SECONDS, decode_responses=True)
            self.url = url
        return self.redis

    def look(self, url, configs):
        """Samples of every queue. A queue of a site that is gone counts while jobs wait in it."""
        redis, now = self.connection(url), time.time()
        prefixes = {self.prefix, *(str(config["bench_id"]) for config in configs if config.get("bench_id"))}
        lasting = {f"{prefix}:{queue}" for prefix in prefixes for queue in QUEUES}
        known = {key[len(QUEUE_KEY):] for key in redis.smembers("rq:queues") if key.startswith(f"{QUEUE_KEY}{self.prefix}")}
        names = sorted(name for name in lasting | known if self.owner(name) is not None)
        pipe = redis.pipeline(transaction=False)
        for name in names:
            pipe.llen(f"{QUEUE_KEY}{name}")
            # A job whose worker was killed counts until its lease ends; one without an end has none.
            pipe.zcount(f"rq:wip:{name}", now, "+inf")
            pipe.zcount(f"rq:wip:{name}", "-inf", 0)
            pipe.zcard(f"rq:failed:{name}")
            pipe.smembers(f"rq:workers:{name}")
        answers = pipe.execute()
        rows = [answers[start:start + 5] for start in range(0, len(answers), 5)]
        alive = self.alive(redis, {worker for row in rows for worker in row[4]})
        for name, (waiting, leased, endless, failed, workers) in zip(names, rows):
            if name not in lasting and waiting == 0:
                continue
            labels = {"site": self.owner(name), "queue": name.rpartition(":")[2]}
            yield "app_worker_queue_length", labels, waiting
            yield "app_worker_jobs_running", labels, leased + endless
            yield "app_worker_jobs_failed", labels, failed
            yield "app_workers", labels, len(alive & workers)

    @staticmethod
    def alive(redis, workers):
        """Those that still have a key: one that was killed stays in the sets, and its key expires."""
        workers = sorted(workers)
        pipe = redis.pipeline(transaction=False)
        for worker in workers:
            pipe.exists(worker)
        return {worker for worker, there in zip(workers, pipe.execute()) if there}


def mariadb_login(login):
    """(connections, allowed) of a MariaDB server, by whichever driver the image has."""
    address = {"host": login["host"], "port": login["port"], "user": login["user"], "connect_timeout": CONNECT_SECONDS}
    try:
        import pymysql as driver

        address.update(password=login["password"], read_timeout=ANSWER_SECONDS)
    except ImportError:
        import MySQLdb as driver

        address.update(passwd=login["password"], read_timeout=ANSWER_SECONDS)
    try:
        connection = driver.connect(**address)
    except driver.MySQLError as error:
        if error.args and error.args[0] == TOO_MANY["mariadb"]:
            raise Full from None
        raise
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
            connected = int(cursor.fetchone()[1])
            cursor.execute("SELECT @@GLOBAL.max_connections")
            return connected, int(cursor.fetchone()[0])
    finally:
        connection.close()


def postgres_login(login):
    """(connections, allowed) of a PostgreSQL server. The connection is short: an open one would keep a database from being dropped."""
    import psycopg2

    options = f"-c statement_timeout={ANSWER_SECONDS * 1000}"
    address = {"host": login["host"], "port": login["port"], "user": login["user"], "password": login["password"]}
    try:
        connection = psycopg2.connect(dbname=login["name"], connect_timeout=CONNECT_SECONDS, options=options, **address)
    except psycopg2.OperationalError as error:
        # The driver gives no code for a login that is refused.
        if error.pgcode == TOO_MANY["postgres"] or any(
            words in str(error) for words in ("too many clients already", "remaining connection slots are reserved")
        ):
            raise Full from None
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

    LOOKS = {"mariadb": mariadb_login, "postgres": postgres_login}

    def __init__(self):
        self.allowed = {}
        self.worked = {}

    @staticmethod
    def servers(common, configs):
        """(type, host, port) → logins of sites on that server. A site whose configuration cannot be understood has none."""
        found = {}
        for config in configs:
            merged = {**common, **config}
            kind, name = str(merged.get("db_type") or "mariadb"), merged.get("db_name")
            if kind not in DEFAULT_PORTS or not name or not merged.get("db_password"):
                continue
            try:
                port = int(merged.get("db_port") or DEFAULT_PORTS[kind])
            except (TypeError, ValueError, OverflowError):
                continue
            login = {
                "host": str(merged.get("db_host") or "127.0.0.1"),
                "port": port,
                "user": str(merged.get("db_user") or name),
                "password": str(merged["db_password"]),
                "name": str(name),
            }
            found.setdefault((kind, login["host"], port), []).append(login)
        return found

    def chosen(self, server, logins):
        """Some of the logins, first the one that worked last: others may never, and all have their turn some time."""
        worked = [login for login in logins if login["name"] == self.worked.get(server)]
        others = [login for login in logins if login not in worked]
        return (worked + random.sample(others, min(LOGINS, len(others))))[:LOGINS]

    def look(self, server, logins):
        """Samples of one server."""
        kind, host, port = server
        up, connected, allowed = NAMES[kind]
        labels = {"server": f"{host}:{port}"}
        last = None
        for login in self.chosen(server, logins):
            try:
                open_now, self.allowed[server] = self.LOOKS[kind](login)
            except Full:
                # All are taken. The number is known from before, or there is nothing to compare with.
                if server not in self.allowed:
                    return [(up, labels, 0)]
                open_now = self.allowed[server]
            except Exception as error:
                last = error
                continue
            self.worked[server] = login["name"]
            tell(f"{kind} {host}:{port}", None)
            return [(up, labels, 1), (connected, labels, open_now), (allowed, labels, self.allowed[server])]
        tell(f"{kind} {host}:{port}", last)
        return [(up, labels, 0)]


told = {}


def tell(what, error):
    """One line when something begins to fail, and when it works again. Never a message, which may hold a login."""
    name = error and type(error).__name__
    if told.get(what) == name:
        return
    told[what] = name
    print(f"app-operator: {what} {f'does not answer: {name}' if name else 'answers'}", flush=True)


class Collector:
    """What is told. An answer holds for some seconds, however many ask."""

    def __init__(self, sites, namespace, bench, cache_seconds):
        self.sites = sites
        self.cache_seconds = cache_seconds
        self.labels = {"namespace": namespace, "bench": bench}
        self.queues = Queues(f"{namespace}.{bench}")
        self.databases = Databases()
        self.lock = threading.Lock()
        self.pool = ThreadPoolExecutor(8)
        self.text, self.since = "", None
        # A look that hangs is not begun again.
        self.busy = {}

    def exposition(self):
        with self.lock:
            if self.since is None or time.monotonic() - self.since >= self.cache_seconds:
                self.text = self.render(self.collect())
                self.since = time.monotonic()
            return self.text

    def collect(self):
        common, configs = read_json(self.sites / "common_site_config.json"), site_configs(self.sites)
        servers = self.databases.servers(common, configs)
        looks = {("redis",): (self.look_at_queues, common, configs)}
        looks.update({server: (self.databases.look, server, logins) for server, logins in servers.items()})
        for key, (look, *arguments) in looks.items():
            if key not in self.busy or self.busy[key].done():
                self.busy[key] = self.pool.submit(look, *arguments)
        self.busy = {key: self.busy[key] for key in looks}
        wait(self.busy.values(), timeout=COLLECT_SECONDS)
        samples = []
        for key, future in self.busy.items():
            if future.done():
                samples += future.result()
            elif key == ("redis",):
                samples.append(("redis_up", {"server": "queue"}, 0))
            else:
                samples.append((NAMES[key[0]][0], {"server": f"{key[1]}:{key[2]}"}, 0))
        return samples

    def look_at_queues(self, common, configs):
        labels = {"server": "queue"}
        try:
            samples = list(self.queues.look(common["redis_queue"], configs))
        except Exception as error:
            tell("the queues' Redis", error)
            return [("redis_up", labels, 0)]
        tell("the queues' Redis", None)
        return [("redis_up", labels, 1), *samples]

    def render(self, samples):
        """The text format, in which all samples of a name stand together."""
        lines = []
        for name, text in SERIES.items():
            mine = [(labels, value) for sample, labels, value in samples if sample == name]
            if mine:
                lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge"]
            for labels, value in mine:
                pairs = ",".join(f'{key}="{escaped(text)}"' for key, text in {**self.labels, **labels}.items())
                lines.append(f"{name}{{{pairs}}} {value}")
        return "".join(f"{line}\n" for line in lines)


def escaped(value):
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def handler(collector):
    class Handler(BaseHTTPRequestHandler):
        # A client that says nothing does not keep its thread.
        timeout = 30

        def do_GET(self):
            path = self.path.partition("?")[0]
            if path == "/metrics":
                self.answer(200, collector.exposition(), "text/plain; version=0.0.4; charset=utf-8")
            elif path == "/healthz":
                self.answer(200, "ok\n")
            else:
                self.answer(404, "metrics are at /metrics\n")

        def answer(self, status, text, content_type="text/plain; charset=utf-8"):
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 32

    def handle_error(self, *_):
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            print(f"app-operator: a request failed: {type(error).__name__}", flush=True)


def main():
    # A process without a handler ignores SIGTERM as PID 1.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    bench = Path(os.environ.get("BENCH_DIR") or "/home/frappe/frappe-bench")
    cache_seconds = float(os.environ.get("CACHE_SECONDS") or 5)
    collector = Collector(bench / "sites", os.environ["NAMESPACE"], os.environ["BENCH"], cache_seconds)
    Server(("", int(os.environ.get("LISTEN_PORT") or 9180)), handler(collector)).serve_forever()


if __name__ == "__main__":
    main()
