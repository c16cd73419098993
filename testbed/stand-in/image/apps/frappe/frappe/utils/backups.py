"""TEST CODE: a site's backup: dump (gzip), configuration, and with files two archives, named as the framework names them."""

import gzip
import os
import shlex
import time

import frappe
from frappe.database import get_command, site_user
from frappe.tests import faults
from frappe.utils import cint, execute_in_shell, now_datetime


def backup(
    with_files=False, compress=False, include="", exclude="", backup_path=None, backup_path_db=None, backup_path_files=None,
    backup_path_private_files=None, backup_path_conf=None,
):  # fmt: skip
    """Kind → path of what was written. A step that fails takes its own file away and ends the backup."""
    default = os.path.abspath(frappe.conf.backup_path or frappe.get_site_path("private", "backups"))
    delete_temp_backups(default)
    folder = os.path.abspath(backup_path) if backup_path else default
    start = now_datetime().strftime("%Y%m%d_%H%M%S") + "-" + frappe.local.site.replace(".", "_")
    extension = "tgz" if compress else "tar"
    partial = "-partial" if include or exclude else ""
    encrypts = cint(frappe.get_system_settings("encrypt_backup"))
    enc = "-enc" if encrypts else ""
    conf = backup_path_conf or os.path.join(folder, f"{start}-site_config_backup{enc}.json")
    dump = backup_path_db or os.path.join(folder, f"{start}{partial}-database{enc}.sql.gz")
    public = backup_path_files or os.path.join(folder, f"{start}-files{enc}.{extension}")
    private = backup_path_private_files or os.path.join(folder, f"{start}-private-files{enc}.{extension}")
    key = backup_encryption_key() if encrypts else ""
    for path in (conf, dump, public, private):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    or_remove(take_dump, dump, include, exclude)
    or_remove(copy_config, conf)
    written = {"config": conf, "database": dump}
    if with_files:
        or_remove(archive, public, "public", compress)
        or_remove(archive, private, "private", compress)
        written |= {"public": public, "private": private}
    for kind in ("database", "public", "private") if encrypts else ():
        if kind in written:
            encrypt(written[kind], key)
    return written


def scheduled_backup(
    ignore_files=False, backup_path=None, backup_path_db=None, backup_path_files=None, backup_path_private_files=None,
    backup_path_conf=None, ignore_conf=False, include_doctypes="", exclude_doctypes="", compress=False, force=False,
):  # fmt: skip
    """What the `backup` command and the framework's own scheduler call."""
    return backup(
        not ignore_files, compress, include_doctypes, exclude_doctypes, backup_path, backup_path_db, backup_path_files,
        backup_path_private_files, backup_path_conf,
    )  # fmt: skip


def backup_encryption_key():
    """Made, and written into the site's configuration, when it is needed first."""
    from cryptography.fernet import Fernet
    from frappe.installer import update_site_config

    if not frappe.conf.backup_encryption_key:
        update_site_config("backup_encryption_key", Fernet.generate_key().decode())
    return frappe.conf.backup_encryption_key


def encrypt(path, key):
    """In place. Without a result, as with a key that begins with a hyphen, the file stays clear under its name."""
    try:
        execute_in_shell(f"gpg --yes --passphrase {key} --pinentry-mode loopback -c {shlex.quote(path)} || true")
        os.rename(f"{path}.gpg", path)
    except Exception as error:
        print(error)


def or_remove(step, path, *arguments):
    try:
        step(path, *arguments)
    except BaseException:
        if os.path.exists(path):
            os.remove(path)
        raise


def delete_temp_backups(folder):
    """Each backup first deletes the older ones of the default folder: they are no retention."""
    hours = cint(frappe.conf.keep_backups_for_hours) or 24
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and time.time() - os.path.getmtime(path) > hours * 3600:
            os.remove(path)


def tables_of(doctypes):
    known = frappe.db.get_tables()
    return [f"tab{name.strip()}" for name in doctypes.split(",") if f"tab{name.strip()}" in known]


def take_dump(path, include, exclude):
    postgres = frappe.conf.db_type == "postgres"
    wanted, unwanted = tables_of(include), tables_of(exclude)
    header = ["begin frappe metadata", "[frappe]", f"version = {frappe.__version__}", "branch = N/A", "end frappe metadata", ""]
    if wanted or unwanted:
        header.append(f"Partial Backup of Frappe Site {frappe.local.site}")
    with gzip.open(path, "wt") as file:
        file.write("".join(f"-- {line}\n" for line in header))
    if postgres:
        extra = [f'--table=public."{table}"' for table in wanted] or [f'--exclude-table-data=public."{table}"' for table in unwanted]
    else:
        extra = wanted or [f"--ignore-table={frappe.conf.db_name}.{table}" for table in unwanted]
    program, arguments, name = get_command(
        host=frappe.conf.db_host, port=frappe.conf.db_port, user=site_user(), password=frappe.conf.db_password,
        db_name=frappe.conf.db_name, extra=extra, dump=True,
    )  # fmt: skip
    if not program:
        frappe.throw(f"{name} not found in PATH! This is required to take a backup.")
    execute_in_shell(f"set -o pipefail; {shlex.join([program, *arguments])} | gzip >> {shlex.quote(path)}")
    faults.after_dump(path)


def copy_config(path):
    with open(frappe.get_site_path("site_config.json")) as source, open(path, "w") as target:
        target.write(source.read())


def archive(path, folder, compress):
    source = frappe.get_site_path(folder, "files")  # ./<site>/public/files: restore strips the first two
    packer = f"tar -cf - {shlex.quote(source)} | gzip > {shlex.quote(path)}" if compress else f"tar -cf {shlex.quote(path)} {shlex.quote(source)}"
    execute_in_shell(f"set -o pipefail; {packer}")
