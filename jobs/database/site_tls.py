"""The files of a site's encrypted database connection, on the volume, for its processes.

A process reads the site's configuration for each request or job, and the files for each connection.
So a changed Secret needs no restart. A folder has the hash of its content as name, so that no
process reads a certificate with the key of another one.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atomic_files import replace_file
from database_tls import CA_FILE, CERTIFICATE_FILE, CONFIG_KEY, KEY_FILE, DatabaseTls
from volume_files import exists, make_directory, names_in, remove_tree

FOLDER = ".database-tls"
# Keys that version-15 reads on MariaDB: also its console in a pod connects with the certificate.
FRAMEWORK_KEYS = {"db_ssl_ca": "ca", "db_ssl_cert": "cert", "db_ssl_key": "key"}
TLS_KEYS = (CONFIG_KEY, *FRAMEWORK_KEYS)


def tls_config(site: Path, tls: DatabaseTls | None, config: Mapping[str, Any]) -> dict[str, Any]:
    """Writes the files. Returns the keys of site_config.json; None deletes one.

    Without `tls`, keys that the operator has not set are kept.
    """
    if tls is None:
        return dict.fromkeys(TLS_KEYS) if CONFIG_KEY in config else {}
    texts = tls.texts()
    digest = hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest()[:16]
    folder = site / FOLDER / digest
    names = {"ca": CA_FILE, "cert": CERTIFICATE_FILE, "key": KEY_FILE}
    if texts:
        make_directory(folder, 0o750)
    for name, text in texts.items():
        # libpq refuses a key that the group can read.
        replace_file(folder / names[name], text, 0o600 if name == "key" else 0o640)
    values = {name: str(folder / names[name]) for name in texts}
    on_volume = DatabaseTls(tls.mode, **values)
    native = {key: values.get(name) for key, name in FRAMEWORK_KEYS.items()}
    return {CONFIG_KEY: on_volume.config(), **native}


def remove_old_files(site: Path, config: Mapping[str, Any]) -> None:
    """Removes the folders that the configuration does not name."""
    if not exists(site / FOLDER):
        return
    used = " ".join((config.get(CONFIG_KEY) or {}).values())
    for name in names_in(site / FOLDER):
        if name not in used:
            remove_tree(site / FOLDER / name)
