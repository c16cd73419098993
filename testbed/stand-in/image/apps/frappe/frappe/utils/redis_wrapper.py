"""TEST CODE: redis_cache: keys of a site carry its database's name, shared ones do not. Values are pickled."""

import pickle
import sys

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

import frappe

# A web request of the real framework hangs for more than 30 s while its cache is away; commands go on without it.
web_retries = 0


def setup_cache():
    options = {"connection_class": TrackedConnection} if is_tracked() else {}
    if web_retries:
        errors = [redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError]
        options |= {"retry": Retry(ConstantBackoff(0.5), web_retries), "retry_on_error": errors}
    return Cache.from_url(frappe.conf.redis_cache, **options)


def is_tracked():
    """Only web processes live long enough to keep values: their connections must hear of changes."""
    return frappe.VERSION >= (16, 0) and "gunicorn" in sys.modules


class TrackedConnection(redis.Connection):
    """As in version-16; without its cache in the process. A server without the command fails each request."""

    watcher = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.register_connect_callback(self.track)

    def track(self, _connection):
        cls = type(self)
        cls.watcher = cls.watcher or redis.from_url(frappe.conf.redis_cache).client()
        try:
            self.send_command("CLIENT", "TRACKING", "ON", "redirect", self.watcher.client_id(), "NOLOOP")
            self.read_response()
        except redis.exceptions.ResponseError as error:
            if "does not exist" not in str(error):  # the server has restarted
                raise


class Cache(redis.Redis):
    def make_key(self, key, shared=False):
        return key if shared else f"{frappe.conf.db_name}|{key}"

    def get_value(self, key, generator=None, shared=False):
        """The cached value; without one the generator's, which is then cached."""
        key = self.make_key(key, shared)
        if key in frappe.local.cache:
            return frappe.local.cache[key]
        value = None
        try:
            found = self.get(key)
            value = None if found is None else pickle.loads(found)
        except redis.exceptions.ConnectionError:
            pass
        if value is None and generator:
            value = generator()
            try:
                self.set(key, pickle.dumps(value))
            except redis.exceptions.ConnectionError:
                pass
        frappe.local.cache[key] = value
        return value

    def hget_value(self, name, key):
        try:
            found = self.hget(self.make_key(name), key)
            return None if found is None else pickle.loads(found)
        except redis.exceptions.ConnectionError:
            return None

    def hset_value(self, name, key, value):
        try:
            self.hset(self.make_key(name), key, pickle.dumps(value))
        except redis.exceptions.ConnectionError:
            pass

    def hdel_value(self, name, *keys):
        try:
            self.hdel(self.make_key(name), *keys)
        except redis.exceptions.ConnectionError:
            pass

    def delete_value(self, keys):
        try:
            self.delete(*(self.make_key(key) for key in ([keys] if isinstance(keys, str) else keys)))
        except redis.exceptions.ConnectionError:
            pass

    delete_key = delete_value

    def delete_keys(self, prefix):
        """Every key of the site that begins so. Shared keys stay: `assets_json` outlives a clear-cache."""
        frappe.local.cache.clear()
        try:
            keys = list(self.scan_iter(f"{self.make_key(prefix)}*", count=1000))
            if keys:
                self.delete(*keys)
        except redis.exceptions.ConnectionError:
            pass
