"""TEST CODE: a small stand-in for the framework, so that the site scripts can be tested without its image.

It runs real SQL on a real server and writes real files, and refuses what the real one (15.44.2, read and run) refuses:
a site that exists, a missing administrator, an unknown flag, an app that is not in the image, a half-installed app
without --force. `__version__` decides which flags `new-site` has. No line of the framework is in it.
"""

import json
import os
import runpy

__version__ = "15.44.2"


class AuthenticationError(Exception):
    pass


class Values(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__


local, conf, flags = Values(), Values(), Values()


def init(site, sites_path=".", new_site=False):
    local.site, local.sites_path = site, sites_path
    conf.clear()
    for path in (f"{sites_path}/common_site_config.json", f"{sites_path}/{site}/site_config.json"):
        if os.path.exists(path):
            conf.update(json.load(open(path)))


class Database:
    def __init__(self, user, password, name):
        if conf.db_type == "postgres":
            import psycopg2

            self.connection = psycopg2.connect(
                host=conf.db_host, port=conf.db_port, user=user, password=password, dbname=name or user
            )
            self.connection.autocommit = name is None
        else:
            import pymysql

            self.connection = pymysql.connect(
                host=conf.db_host, port=conf.db_port, user=user, password=password, database=name
            )

    def sql(self, statement, *values):
        if conf.db_type == "postgres":
            statement = statement.replace("`", '"')
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall()) if cursor.description else []

    def get_tables(self):
        schema = "current_schema()" if conf.db_type == "postgres" else "DATABASE()"
        return [row[0] for row in self.sql(f"SELECT table_name FROM information_schema.tables WHERE table_schema = {schema}")]

    def commit(self):
        self.connection.commit()

    def get_single_value(self, doctype, field):
        rows = self.sql("SELECT value FROM `tabSingles` WHERE doctype = %s AND field = %s", doctype, field)
        return rows[0][0] if rows else None

    def set_single_value(self, doctype, field, value):
        self.sql("DELETE FROM `tabSingles` WHERE doctype = %s AND field = %s", doctype, field)
        self.sql("INSERT INTO `tabSingles` (doctype, field, value) VALUES (%s, %s, %s)", doctype, field, str(value))


db = None


def connect():
    global db
    # version-15 has no db_user: it connects as a user that is named like the database
    user = conf.db_user if __version__.startswith("16") and conf.db_user else conf.db_name
    db = Database(user, conf.db_password, conf.db_name)


def get_installed_apps():
    rows = db.sql("SELECT defvalue FROM `tabDefaultValue` WHERE defkey = 'installed_apps'")
    return json.loads(rows[0][0]) if rows else []


def get_all_apps():
    return [app for app in open("apps.txt").read().split("\n") if app]


def get_hooks(hook, app_name):
    path = f"../apps/{app_name}/{app_name}/hooks.py"
    return runpy.run_path(path).get(hook, []) if os.path.exists(path) else []
