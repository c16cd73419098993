#!/bin/bash
# TEST CODE: prepares and starts Debian's MariaDB with the contract of the official image, as far as the operator's
# pods use it: MARIADB_ROOT_PASSWORD, MARIADB_ROOT_HOST, MARIADB_AUTO_UPGRADE, arguments for the server, any user.
# As there, a data folder that was left half prepared counts as prepared.
set -euo pipefail

datadir=/var/lib/mysql
socket=/run/mysqld/mysqld.sock
marker=$datadir/mysql_upgrade_info
version=$(mariadbd --version | sed -E 's/.*Ver ([0-9.]+).*/\1/')

log() { echo "[entrypoint] $*" >&2; }
die() { log "ERROR: $*"; exit 1; }

case ${1:-} in '' | -*) set -- mariadbd "$@" ;; esac
[ "$1" = mariadbd ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  mkdir -p "$datadir" "${socket%/*}"
  chown mysql:mysql "$datadir" "${socket%/*}"
  exec setpriv --reuid=mysql --regid=mysql --init-groups "$0" "$@"
fi

server=
start_server() { # only for this script: no network
  mariadbd --skip-networking --socket="$socket" "$@" &
  server=$!
  # As long as the probes allow: a half initialized folder cannot be used again.
  for _ in {1..3000}; do
    mariadb-admin --socket="$socket" --user=root --silent ping >/dev/null 2>&1 && return
    kill -0 "$server" 2>/dev/null || die 'the server ended while it was prepared'
    sleep 0.1
  done
  die 'the server did not start'
}
stop_server() {
  kill "$server"
  wait "$server" || true
}
quoted() { # as an SQL string
  local text=${1//\\/\\\\}
  printf "'%s'" "${text//\'/\\\'}"
}

if [ ! -d "$datadir/mysql" ]; then
  [ -n "${MARIADB_ROOT_PASSWORD:-}" ] || die 'MARIADB_ROOT_PASSWORD is not set'
  log 'preparing a new data folder'
  mariadb-install-db --datadir="$datadir" --auth-root-authentication-method=normal --skip-test-db \
    --skip-name-resolve --cross-bootstrap --old-mode='' >/dev/null
  start_server "${@:2}"
  password=$(quoted "$MARIADB_ROOT_PASSWORD")
  host=$(quoted "${MARIADB_ROOT_HOST:-%}")
  check=$(head -c 24 /dev/urandom | base64)
  {
    echo "SET SESSION SQL_LOG_BIN = 0;"
    echo "SET PASSWORD FOR root@localhost = PASSWORD($password);"
    echo "CREATE USER root@$host IDENTIFIED BY $password;"
    echo "GRANT ALL ON *.* TO root@$host WITH GRANT OPTION;"
    for local in localhost 127.0.0.1 ::1; do
      echo "CREATE USER healthcheck@'$local' IDENTIFIED BY '$check';"
    done
  } | mariadb --no-defaults --socket="$socket" --user=root
  (umask 077 && printf '[mariadb-client]\nuser=healthcheck\npassword=%s\nport=3306\nsocket=%s\nprotocol=tcp\n' "$check" "$socket" \
    >"$datadir/.my-healthcheck.cnf")
  echo "$version" >"$marker"
  stop_server
  log 'prepared'
elif [ -n "${MARIADB_AUTO_UPGRADE:-}" ] && [ "$(cut -d- -f1 "$marker" 2>/dev/null)" != "$version" ]; then
  log "upgrading to $version"
  start_server "${@:2}" --skip-grant-tables
  mariadb-upgrade --socket="$socket" --user=root
  stop_server
fi

exec "$@"
