"""The company proxy of a connection, as curl reads the environment.

Environment, in lower or upper case
  https_proxy, http_proxy, all_proxy    `[http://][<user>:<password>@]<host>[:<port>]`
  no_proxy    what is connected to directly: names with all their subdomains, addresses, networks
              such as 10.0.0.0/8, each with a port or without; `*` for all
"""

import base64
import os
import re
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment

from job_result import JobError
from secret_text import secret_text


@dataclass
class Proxy:
    host: str
    port: int
    headers: dict[str, str]

    def __str__(self) -> str:
        """Without its login, for messages."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def proxy_for(scheme: str, host: str, port: int) -> Proxy | None:
    """The proxy of a connection; None if there is none."""
    proxies = getproxies_environment()
    variable = next((f"{one}_proxy" for one in (scheme, "all") if proxies.get(one)), None)
    if variable is None or is_direct(host, port, proxies.get("no", "")):
        return None
    value = os.fsencode(proxies[variable.removesuffix("_proxy")])
    return read_proxy(secret_text(value, variable).strip(), variable)


def read_proxy(text: str, variable: str) -> Proxy:
    try:
        url = urlsplit(text if "://" in text else f"http://{text}")
        host, port = url.hostname, url.port or 80
    except ValueError:
        host, port = None, 0
    # The value may have a password: no message has it.
    if not host:
        raise JobError("InvalidInput", f"{variable} is not the URL of a proxy")
    if url.scheme != "http":
        raise JobError(
            "InvalidInput",
            f"{variable} is a proxy of {url.scheme}://; only proxies of http:// are supported",
        )
    if url.username is None:
        return Proxy(host, port, {})
    login = f"{unquote(url.username)}:{unquote(url.password or '')}"
    token = base64.b64encode(login.encode()).decode()
    return Proxy(host, port, {"Proxy-Authorization": f"Basic {token}"})


def is_direct(host: str, port: int, no_proxy: str) -> bool:
    return any(matches(entry, host, port) for entry in re.split(r"[,\s]+", no_proxy) if entry)


def matches(entry: str, host: str, port: int) -> bool:
    """Whether an entry of no_proxy names a host, which is a name or an address."""
    if entry == "*":
        return True
    entry, entry_port = split_port(entry)
    if entry_port not in ("", str(port)):
        return False
    try:
        address = ip_address(host)
    except ValueError:
        name = entry.lower().lstrip("*").strip(".")
        return bool(name) and f".{host.lower().rstrip('.')}".endswith(f".{name}")
    try:
        return address in ip_network(entry, strict=False)
    except ValueError:
        return False


def split_port(entry: str) -> tuple[str, str]:
    """`host`, `host:443`, `2001:db8::5`, `[2001:db8::5]:443`, `2001:db8::/32`."""
    if match := re.fullmatch(r"\[(.*)\](?::(\d+))?", entry):
        return match[1], match[2] or ""
    if entry.count(":") == 1:
        name, _, port = entry.partition(":")
        return name, port
    return entry, ""
