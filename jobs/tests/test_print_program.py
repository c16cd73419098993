"""What the proxy does with hosts that nginx does not know."""

import socket
import threading
from collections.abc import Iterator

import pytest

import print_program


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    monkeypatch.setenv("NGINX_HOST", "127.0.0.1")
    monkeypatch.setenv("NGINX_PORT", "1")
    print_program.knows_site.cache_clear()
    server = print_program.Proxy(("127.0.0.1", 0), print_program.Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield ("127.0.0.1", server.server_port)
    server.shutdown()
    server.server_close()


@pytest.fixture
def other() -> Iterator[tuple[str, list[bytes]]]:
    """A server that answers one connection in capitals."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                received.append(connection.recv(1000))
                connection.sendall(received[0].upper())

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}", received


def exchange(address: tuple[str, int], *parts: bytes) -> bytes:
    answer = b""
    with socket.create_connection(address, 5) as client:
        for part in parts:
            client.sendall(part)
            answer += client.recv(1000)
    return answer


def test_tunnels_to_another_server(proxy: tuple[str, int], other: tuple[str, list[bytes]]) -> None:
    answer = exchange(proxy, f"CONNECT {other[0]} HTTP/1.1\r\n\r\n".encode(), b"hello")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"HELLO")


def test_asks_another_server_for_http_without_headers_of_ours(
    proxy: tuple[str, int], other: tuple[str, list[bytes]]
) -> None:
    exchange(proxy, f"GET http://{other[0]}/a?b HTTP/1.1\r\nHost: {other[0]}\r\n\r\n".encode())
    assert other[1][0].startswith(b"GET /a?b HTTP/1.1\r\n")
    assert b"X-Forwarded-Proto" not in other[1][0]


def test_uses_the_proxy_of_the_pod(
    monkeypatch: pytest.MonkeyPatch, proxy: tuple[str, int], other: tuple[str, list[bytes]]
) -> None:
    monkeypatch.setenv("https_proxy", f"http://{other[0]}")
    exchange(proxy, b"CONNECT other.example:443 HTTP/1.1\r\n\r\n")
    assert other[1][0].startswith(b"CONNECT other.example:443 HTTP/1.")


def test_answers_502_where_a_server_is_not_reached(proxy: tuple[str, int]) -> None:
    answer = exchange(proxy, b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 502 ")


def test_asks_nginx_again_after_a_connection_failed(
    monkeypatch: pytest.MonkeyPatch, proxy: tuple[str, int]
) -> None:
    assert not print_program.is_site("shop.example.com")
    with socket.create_server(("127.0.0.1", 0)) as nginx:
        asked: list[bytes] = []

        def serve() -> None:
            connection, _ = nginx.accept()
            with connection:
                asked.append(connection.recv(1000))
                connection.sendall(b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        monkeypatch.setenv("NGINX_PORT", str(nginx.getsockname()[1]))
        assert print_program.is_site("shop.example.com")
        assert print_program.is_site("shop.example.com")
    assert len(asked) == 1
