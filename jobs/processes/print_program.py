"""Runs wkhtmltopdf or Chromium so that it loads a site's own resources through the bench's nginx:

    print_program.py PROGRAM ARGUMENT...

The framework gives these programs pages with URLs of the site's public name. In a pod that name may
not resolve, or its address may not be reachable. The program therefore gets a proxy on loopback,
which lives as long as the program:
- requests to a host that nginx knows go to nginx, with their Host; of `https` the proxy ends TLS
  itself, with a key of this process, and gives nginx the scheme;
- other requests go to their host, or to the proxy that the environment names.

The framework never waits for Chromium and leaves it running when a job or a web process ends. This
program ends it then.

Environment: NGINX_HOST, NGINX_PORT.
"""

import base64
import contextlib
import hashlib
import http.client
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime, timedelta, timezone
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

CONNECT_SECONDS = 5
READ_SECONDS = 60
END_SECONDS = 5
# Not passed on by a proxy (RFC 9110, 7.6.1).
HOP_BY_HOP = (
    "connection",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "upgrade",
)
# A name for which the certificate is: Chromium knows the key, and wkhtmltopdf checks none.
CERTIFICATE_NAME = "app-operator"


def nginx() -> tuple[str, int]:
    return os.environ["NGINX_HOST"], int(os.environ["NGINX_PORT"])


def is_site(host: str) -> bool:
    """Whether nginx knows the host. Without an answer of nginx, the next call asks again."""
    try:
        return knows_site(host)
    except (OSError, http.client.HTTPException):
        return False


@cache
def knows_site(host: str) -> bool:
    """The answer of nginx: it redirects a path that ends with a slash, or answers 404."""
    connection = http.client.HTTPConnection(*nginx(), timeout=CONNECT_SECONDS)
    try:
        connection.request("HEAD", "/app-operator/", headers={"Host": host})
        return connection.getresponse().status == 301
    finally:
        connection.close()


def outer_proxy(scheme: str, host: str) -> tuple[str, int] | None:
    """The proxy that the pod's environment names for other hosts."""
    proxies = getproxies()
    url = proxies.get(scheme) or proxies.get("all")
    if not url or proxy_bypass(host):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    return (parts.hostname, parts.port or 80) if parts.hostname else None


def host_and_port(text: str, default: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    return (parts.hostname or "").lower(), parts.port or default


class Proxy(ThreadingHTTPServer):
    daemon_threads = True
    tls: ssl.SSLContext

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a closed connection; the program itself reports what it could not load


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = READ_SECONDS
    # The host of a connection of which this proxy has ended TLS.
    secure_host = ""

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def connect(self) -> None:
        host, port = host_and_port(self.path, 443)
        if is_site(host):
            self.send_response_only(200)
            self.end_headers()
            self.wfile.flush()
            server: Any = self.server
            self.request = self.connection = server.tls.wrap_socket(
                self.connection, server_side=True
            )
            self.secure_host = host
            self.setup()
            self.close_connection = False
            return
        self.close_connection = True
        try:
            upstream = self.tunnel(host, port)
        except OSError as error:
            self.send_error(502, str(error))
            return
        with upstream:
            self.send_response_only(200)
            self.end_headers()
            self.wfile.flush()
            pipe = threading.Thread(target=copy, args=(upstream, self.connection), daemon=True)
            pipe.start()
            copy(self.connection, upstream)
            pipe.join(READ_SECONDS)

    def tunnel(self, host: str, port: int) -> socket.socket:
        proxy = outer_proxy("https", host)
        if proxy is None:
            return socket.create_connection((host, port), CONNECT_SECONDS)
        connection = http.client.HTTPConnection(*proxy, timeout=CONNECT_SECONDS)
        connection.set_tunnel(host, port)
        connection.connect()
        return connection.sock

    def relay(self) -> None:
        self.close_connection = True
        parts = urlsplit(self.path)
        host = self.secure_host or (parts.hostname or "").lower()
        if not host:
            self.send_error(400)
            return
        address, target = self.route(host, parts.port or 80)
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size) if size else None
        connection = http.client.HTTPConnection(*address, timeout=READ_SECONDS)
        try:
            connection.putrequest(self.command, target, skip_host=True, skip_accept_encoding=True)
            for name, value in self.request_headers(host):
                connection.putheader(name, value)
            connection.endheaders(body)
            self.answer(connection.getresponse())
        except (OSError, http.client.HTTPException) as error:
            with contextlib.suppress(OSError):
                self.send_error(502, f"{host}: {error}"[:200])
        finally:
            connection.close()

    def route(self, host: str, port: int) -> tuple[tuple[str, int], str]:
        """Where a request goes, and what it asks for there."""
        parts = urlsplit(self.path)
        path = parts._replace(scheme="", netloc="").geturl() or "/"
        if self.secure_host or is_site(host):
            return nginx(), path
        proxy = outer_proxy("http", host)
        return (proxy, self.path) if proxy else ((host, port), path)

    def request_headers(self, host: str) -> list[tuple[str, str]]:
        headers = [
            (name, value)
            for name, value in self.headers.items()
            if name.lower() not in (*HOP_BY_HOP, "x-forwarded-proto")
        ]
        scheme = "https" if self.secure_host else "http"
        ours = [("X-Forwarded-Proto", scheme)] if self.secure_host or is_site(host) else []
        return [*headers, *ours, ("Connection", "close")]

    def answer(self, response: http.client.HTTPResponse) -> None:
        self.send_response_only(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in (*HOP_BY_HOP, "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        shutil.copyfileobj(response, self.wfile)

    def __getattr__(self, name: str) -> Any:
        # The base class looks for the method `do_GET`, and so on.
        if not name.startswith("do_"):
            raise AttributeError(name)
        return self.connect if name == "do_CONNECT" else self.relay


def copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def server_key(folder: str) -> tuple[ssl.SSLContext, str]:
    """TLS with a new key, and the key's hash as Chromium takes it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, CERTIFICATE_NAME)])
    now = datetime.now(timezone.utc)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365))
        .sign(key, hashes.SHA256())
    )
    encoding, path = serialization.Encoding, os.path.join(folder, "tls.pem")
    private = key.private_bytes(
        encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(private + certificate.public_bytes(encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    os.unlink(path)
    public = key.public_key().public_bytes(
        encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return context, base64.b64encode(hashlib.sha256(public).digest()).decode()


def proxy_arguments(program: str, port: int, key_hash: str, folder: str) -> list[str]:
    if os.path.basename(program) == "wkhtmltopdf":
        return []  # its option --proxy does not work in Debian's build; the variable does in all
    return [
        f"--proxy-server=http://127.0.0.1:{port}",
        f"--ignore-certificate-errors-spki-list={key_hash}",
        # Without a profile of its own, Chromium ignores the option above.
        f"--user-data-dir={os.path.join(folder, 'profile')}",
    ]


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends the program with its children: Debian's chromium-headless-shell is a script's child."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        for _ in range(END_SECONDS * 10):
            time.sleep(0.1)
            os.killpg(process.pid, 0)
        os.killpg(process.pid, signal.SIGKILL)


def end_with_parent(process: subprocess.Popen[bytes], parent: int) -> None:
    """Ends the program when the process that wanted it is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    end_group(process)


def run(program: str, arguments: list[str], folder: str) -> int:
    parent = os.getppid()
    proxy = Proxy(("127.0.0.1", 0), Handler)
    proxy.tls, key_hash = server_key(folder)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    ours = proxy_arguments(program, proxy.server_port, key_hash, folder)
    url = f"http://127.0.0.1:{proxy.server_port}"
    environment = os.environ | dict.fromkeys(("http_proxy", "https_proxy"), url) | {"no_proxy": ""}
    given = {argument.split("=")[0] for argument in arguments}
    added = [argument for argument in ours if argument.split("=")[0] not in given]
    # Chromium may be controlled by file descriptors that it inherits.
    process = subprocess.Popen(
        [program, *added, *arguments], env=environment, close_fds=False, start_new_session=True
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os.killpg(process.pid, signal.SIGTERM))
    threading.Thread(target=end_with_parent, args=(process, parent), daemon=True).start()
    code = process.wait()
    end_group(process)
    return code if code >= 0 else 128 - code


def main() -> None:
    program, *arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        os.execv(program, [program, *arguments])
    folder = tempfile.mkdtemp(prefix="print-")
    try:
        code = run(program, arguments, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
