"""TEST CODE: the framework's backup, as far as site_backup.py uses it: a real dump through a shell, real archives.

SLOW_BACKUP keeps it at work for so many seconds after the dump; it writes where it is into the file of that name.
RESTLESS_BACKUP has a child of it write beside the dump for so many seconds, as a shell of the real one may that outlives it.
"""

import gzip
import os
import shlex
import subprocess
import time

import frappe


class CommandFailedError(Exception):
    def __init__(self, message, out, err):
        super().__init__(message)
        self.out, self.err = out, err


def delete_temp_backups():
    raise AssertionError("the site's own folder of backups is not ours to tidy")


def shell(command):
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True)
    if done.returncode:
        raise CommandFailedError(f"Command failed: {command[:20]}", done.stdout, done.stderr)


def scheduled_backup(
    ignore_files, backup_path_db, backup_path_conf, backup_path_files, backup_path_private_files, compress, force, ignore_conf,
    include_doctypes, exclude_doctypes,
):  # fmt: skip
    from frappe.database import get_command

    delete_temp_backups()
    conf = frappe.conf
    known = {f"tab{name}" for name in (include_doctypes or exclude_doctypes).split(",") if name}
    if conf.db_type == "postgres":
        extra = [f'--table=public."{t}"' if include_doctypes else f'--exclude-table-data=public."{t}"' for t in known]
    else:
        extra = list(known) if include_doctypes else [f"--ignore-table={conf.db_name}.{t}" for t in known]
    program, arguments, _ = get_command(
        host=conf.db_host, port=conf.db_port, user=conf.db_name, password=conf.db_password, db_name=conf.db_name, extra=extra, dump=True
    )
    with gzip.open(backup_path_db, "wt") as file:
        file.write(f"-- begin frappe metadata\n-- [frappe]\n-- version = {frappe.__version__}\n")
    shell(f"{program} {shlex.join(arguments)} | gzip >> {backup_path_db}")
    if seconds := os.environ.get("RESTLESS_BACKUP"):
        write = 'until ((SECONDS >= $1)); do : > "$0/$((n++))" || break; done 2>/dev/null'
        subprocess.Popen(["bash", "-c", write, os.path.dirname(backup_path_db), seconds], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if seconds := os.environ.get("SLOW_BACKUP"):
        time.sleep(float(seconds))
    with open(f"{frappe.local.site}/site_config.json") as source, open(backup_path_conf, "w") as target:
        target.write(source.read())
    if ignore_files:
        return
    for folder, path in (("public", backup_path_files), ("private", backup_path_private_files)):
        files = f"./{frappe.local.site}/{folder}/files"
        shell(f"tar cf - {files} | gzip > {path}" if compress else f"tar -cf {path} {files}")
