"""Deletes keys of the framework from the bench's Redis cache."""

from typing import Any

# The framework's list of bundles, which all sites of a bench share.
ASSETS_KEY = "assets_json"


def connect(url: str, timeout: float, connect_timeout: float) -> Any:
    import redis

    return redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=connect_timeout)


def delete_asset_manifest(url: str) -> None:
    """The manifest is of the previous image. A cache that does not answer holds no manifest."""
    try:
        deleted = connect(url, 2, 2).delete(ASSETS_KEY)
    except Exception as error:
        print(f"{ASSETS_KEY} was not removed: no answer from the cache: {type(error).__name__}")
        return
    print(f"removed {ASSETS_KEY} from the cache" if deleted else f"the cache has no {ASSETS_KEY}")


def delete_site_keys(url: str, db_name: str) -> None:
    """Documents and sessions that the framework cached for the site's previous data."""
    cache = connect(url, 30, 5)
    for key in cache.scan_iter(match=f"{db_name}|*", count=1000):
        cache.delete(key)
