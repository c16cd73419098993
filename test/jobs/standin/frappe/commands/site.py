"""TEST CODE: `new-site` with the flags of the version that stands in frappe.__version__."""

import sys
from types import SimpleNamespace

import frappe

COMMON = ["db-name", "db-password", "db-type", "db-host", "db-port", "db-root-username", "db-root-password", "admin-password"]


def flags():
    version = tuple(int(part) for part in frappe.__version__.split(".")[:2])
    switches = {"--force": ("force", True), "--no-mariadb-socket": ("no_mariadb_socket", True)}
    values = list(COMMON)
    if version >= (15, 42):
        switches["--no-setup-db"] = ("setup_db", False)
    if version >= (16, 0):
        values.append("db-user")
    return switches, {f"--{name}": name.replace("-", "_") for name in values}


class NewSite:
    @property
    def params(self):
        switches, values = flags()
        return [SimpleNamespace(opts=[name], secondary_opts=[]) for name in (*switches, *values)]

    def main(self, args, prog_name, standalone_mode):
        from frappe.installer import new_site

        switches, values = flags()
        options = {}
        for argument in args[1:]:
            name, _, value = argument.partition("=")
            if name in switches:
                key, value = switches[name]
                options[key] = value
            elif name in values:
                options[values[name]] = value
            else:
                print(f"Error: No such option: {name}")
                sys.exit(2)
        new_site(args[0], options)


new_site = NewSite()
