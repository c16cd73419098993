#!/bin/bash
# TEST CODE: prepares and starts Debian's PostgreSQL with the contract of the official image, as far as the operator's
# pods use it: POSTGRES_PASSWORD, POSTGRES_USER, PGDATA, arguments for the server, any user.
set -euo pipefail

PGDATA=${PGDATA:-/var/lib/postgresql/data}
export PGDATA
case ${1:-} in '' | -*) set -- postgres "$@" ;; esac
[ "$1" = postgres ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chown postgres:postgres "$PGDATA" /var/run/postgresql
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi

mkdir -p "$PGDATA"
chmod 700 "$PGDATA"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  [ -n "${POSTGRES_PASSWORD:-}" ] || { echo 'Error: POSTGRES_PASSWORD is not set' >&2 && exit 1; }
  if ! getent passwd "$(id -u)" >/dev/null; then
    # initdb needs the name of its user, and a foreign uid has no name.
    NSS_WRAPPER_PASSWD=$(mktemp)
    NSS_WRAPPER_GROUP=$(mktemp)
    echo "postgres:x:$(id -u):$(id -g):PostgreSQL:$PGDATA:/bin/false" >"$NSS_WRAPPER_PASSWD"
    echo "postgres:x:$(id -g):" >"$NSS_WRAPPER_GROUP"
    export NSS_WRAPPER_PASSWD NSS_WRAPPER_GROUP
    export LD_PRELOAD=libnss_wrapper.so
  fi
  initdb --username="${POSTGRES_USER:-postgres}" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") >/dev/null
  printf '\nhost all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
  if [ -n "${LD_PRELOAD:-}" ]; then
    rm -f "$NSS_WRAPPER_PASSWD" "$NSS_WRAPPER_GROUP"
    unset LD_PRELOAD NSS_WRAPPER_PASSWD NSS_WRAPPER_GROUP
  fi
fi

exec "$@"
