"""TEST CODE: a small framework with the contract of the Frappe Framework, for the end-to-end tests of this project.

It keeps what pods and Jobs see of the real one (15.44.2, read and run): paths, configuration files, queue names, HTTP
answers, commands, flags, exit codes and refusals, on real SQL, real Redis, real RQ and real files. It has no desk and no
permissions beyond "logged in or not", and of documents what a Job that writes users, charts, dashboards and workspaces
can see. No line of the framework is in it.
"""

import importlib
import json
import os
import sys
from contextlib import contextmanager

from frappe.context import Local, LocalProxy
from frappe.exceptions import *  # noqa: F403  the framework offers its errors here as well
from frappe.exceptions import AppNotInstalledError, DoesNotExistError, IncorrectSitePath, ValidationError

__version__ = "15.44.2"
VERSION = tuple(int(part) for part in __version__.split(".")[:2])


class _dict(dict):
    """A mapping whose keys are attributes too; what is missing is None."""

    __getattr__ = dict.get
    __setattr__ = dict.__setitem__

    def copy(self):
        return _dict(self)


local = Local()
conf = LocalProxy(lambda: getattr(local, "conf", _dict()))
flags = LocalProxy(lambda: local.flags)
session = LocalProxy(lambda: local.session)
form_dict = LocalProxy(lambda: local.form_dict)
request = LocalProxy(lambda: getattr(local, "request", None))
db = LocalProxy(lambda: getattr(local, "db", None))
cache = LocalProxy(lambda: _redis_cache())

whitelisted, guest_methods = set(), set()


def whitelist(allow_guest=False):
    """Marks a function that `/api/method/` may call."""

    def mark(function):
        whitelisted.add(function)
        if allow_guest:
            guest_methods.add(function)
        return function

    return mark


# --- configuration ---------------------------------------------------------------------------------------------------


def read_config(path, name):
    try:
        with open(path) as file:
            return json.load(file)
    except ValueError as error:
        if VERSION >= (16, 0) and name == "common_site_config.json":
            raise
        print(f"{name} is invalid\n{error}")  # version-15 continues without the file
        return {}


def get_common_site_config(sites_path="."):
    path = os.path.join(sites_path, "common_site_config.json")
    return _dict(read_config(path, "common_site_config.json") if os.path.exists(path) else {})


def get_site_config():
    """Common configuration, over it the site's, over both the environment's."""
    config = get_common_site_config(local.sites_path)
    if local.site:
        path = os.path.join(local.site_path, "site_config.json")
        if os.path.exists(path):
            config.update(read_config(path, f"{local.site}/site_config.json"))
        elif not local.flags.new_site:
            raise IncorrectSitePath(f"{local.site} does not exist")
    env = os.environ
    config.redis_queue = env.get("FRAPPE_REDIS_QUEUE") or config.redis_queue or "redis://127.0.0.1:11311"
    config.redis_cache = env.get("FRAPPE_REDIS_CACHE") or config.redis_cache or "redis://127.0.0.1:13311"
    config.db_type = env.get("FRAPPE_DB_TYPE") or config.db_type or "mariadb"
    config.db_host = env.get("FRAPPE_DB_HOST") or config.db_host or "127.0.0.1"
    port = {"mariadb": 3306, "postgres": 5432}.get(config.db_type)
    config.db_port = env.get("FRAPPE_DB_PORT") or config.db_port or port
    if VERSION >= (16, 0):
        for key in ("db_user", "db_name", "db_password", "db_socket"):
            config[key] = env.get(f"FRAPPE_{key.upper()}") or config.get(key)
    return config


def get_conf(site=None):
    if getattr(local, "initialised", False):
        return local.conf
    with init_site(site):
        return local.conf


# --- a site in this thread -------------------------------------------------------------------------------------------


def init(site, sites_path=".", new_site=False, force=False):
    if getattr(local, "initialised", False) and not force:
        return
    local.flags = _dict(new_site=new_site)
    local.site, local.sites_path = site, sites_path
    local.site_path = os.path.join(sites_path, site)
    local.session = _dict()
    local.form_dict = _dict()
    local.cache = {}
    local.db = None
    local.message_log = []
    local.response = _dict()
    if VERSION >= (16, 0):
        from frappe.utils.site_cache import cached_site_config

        local.conf = cached_site_config()
    else:
        local.conf = get_site_config()
    local.redis_cache = None
    local.initialised = True


def _redis_cache():
    """Connected at its first use: most commands have none, and importing its client takes longer than they do."""
    from frappe.utils.redis_wrapper import setup_cache

    if local.redis_cache is None:
        local.redis_cache = setup_cache()
    return local.redis_cache


def connect(site=None, db_name=None, set_admin_as_user=True):
    from frappe.database import get_db, site_user

    if site:
        init(site)
    if not getattr(local, "initialised", False):
        raise RuntimeError("Site not initialised")
    name = db_name or conf.db_name
    if not name:
        raise RuntimeError("db_name is missing in the site's configuration")
    local.db = get_db(user=site_user(), password=conf.db_password, cur_db_name=name)
    if set_admin_as_user:
        set_user("Administrator")


def destroy():
    if db:
        db.close()
    for name in ("db", "initialised", "request"):
        if hasattr(local, name):
            delattr(local, name)


@contextmanager
def init_site(site=None):
    init(site or "", new_site=True)
    try:
        yield local
    finally:
        destroy()


def set_user(user):
    local.session = _dict(user=user, sid=user, data=_dict())


def get_site_path(*parts):
    return os.path.join(local.site_path, *parts)


def clear_cache():
    cache.delete_keys("")


# --- apps ------------------------------------------------------------------------------------------------------------


def get_all_apps(with_internal_apps=True, sites_path=None):
    """Of `sites/apps.txt`; frappe is always first."""
    path = os.path.join(sites_path or getattr(local, "sites_path", "."), "apps.txt")
    with open(path) as file:
        apps = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    if "frappe" in apps:
        apps.remove("frappe")
    return ["frappe", *apps]


def get_installed_apps():
    if not db:
        connect()
    return json.loads(db.get_default("installed_apps") or "[]")


def get_hooks(hook, app_name=None):
    """One hook of one app, or the lists of that hook of all installed apps together."""
    if app_name:
        return getattr(importlib.import_module(f"{app_name}.hooks"), hook, [])
    return [value for app in get_installed_apps() for value in get_hooks(hook, app)]


def get_module(name):
    return importlib.import_module(name)


def get_attr(path):
    """The function that a dotted path names; only apps that are installed on the site have any."""
    app = path.split(".")[0]
    if app not in get_installed_apps():
        raise AppNotInstalledError(f"App {app} is not installed")
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def get_app_version(app):
    return importlib.import_module(app).__version__


# --- documents -------------------------------------------------------------------------------------------------------

STANDARD_USERS = ("Guest", "Administrator")


def get_meta(doctype):
    from frappe.model.meta import get_meta

    return get_meta(doctype)


def get_doc(doctype, name=None):
    from frappe.model.document import get_doc

    return get_doc(doctype, name)


def new_doc(doctype):
    from frappe.model.document import new_doc

    return new_doc(doctype)


def delete_doc(doctype, name, force=False, ignore_permissions=False):
    from frappe.model.delete_doc import delete_doc

    return delete_doc(doctype, name, force)


def clear_document_cache(doctype, name):
    cache.hdel_value("document_cache", f"{doctype}::{name}")


def get_module_path(module, *parts):
    """Of the folder of a module, in whichever app has it."""
    for app in get_installed_apps():
        path = os.path.join(os.path.dirname(importlib.import_module(app).__file__), scrub(module))
        if os.path.isdir(path):
            return os.path.join(path, *parts)
    raise DoesNotExistError(f"Module {module} not found")


# --- small helpers of the framework ----------------------------------------------------------------------------------


def scrub(text):
    return text.replace(" ", "_").replace("-", "_").lower()


def bold(text):
    return f"<strong>{text}</strong>"


def msgprint(message, raise_exception=None):
    """Something for the user; a caller without a browser finds it in the log of messages."""
    if getattr(local, "initialised", False):
        entry = _dict(message=message)
        local.message_log.append(entry if VERSION >= (15, 56) else json.dumps(entry))
    if raise_exception:
        raise raise_exception(message)


def get_message_log():
    return list(local.message_log)


def clear_messages():
    local.message_log = []


def throw(message, exc=ValidationError):
    msgprint(message, raise_exception=exc)


def generate_hash(length=56):
    return os.urandom(32).hex()[:length]


def log_error(title, message=None):
    """An Error Log of the site; whoever logs an error must not fail for it."""
    import traceback

    text = message or traceback.format_exc()
    print(f"{title}\n{text}", file=sys.stderr, flush=True)
    try:
        from frappe.utils import now

        db.insert("Error Log", name=generate_hash(10), method=title[:140], error=text, creation=now())
    except Exception as error:
        print(f"the error was not logged: {error}", file=sys.stderr)


def enqueue(*args, **kwargs):
    from frappe.utils import background_jobs

    return background_jobs.enqueue(*args, **kwargs)


def publish_realtime(*args, **kwargs):
    from frappe import realtime

    return realtime.publish_realtime(*args, **kwargs)


def call(method, *args, **kwargs):
    return (get_attr(method) if isinstance(method, str) else method)(*args, **kwargs)


@whitelist(allow_guest=True)
def ping():
    return "pong"


def is_setup_complete():
    """From version-16 on."""
    states = db.sql("SELECT `is_setup_complete` FROM `tabInstalled Application` WHERE `app_name` IN ('frappe', 'erpnext')", pluck=True)
    return all(states)


def get_roles(user=None):
    user = user or session.user
    if user == "Administrator":
        return db.sql("SELECT `name` FROM `tabRole`", pluck=True)
    own = db.sql("SELECT `role` FROM `tabHas Role` WHERE `parenttype` = 'User' AND `parent` = %s", [user], pluck=True)
    desk = ["Desk User"] if db.get_value("User", user, "user_type") == "System User" else []
    return [*own, *desk, "All", "Guest"]


def as_json(value):
    return json.dumps(value, default=str)


def get_single_value(doctype, field):
    return db.get_single_value(doctype, field)


def get_system_settings(field):
    return db.get_single_value("System Settings", field)
