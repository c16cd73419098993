#!/bin/bash
# TEST CODE: the official image's check, with the options that the operator uses.
#   --connect             the server accepts connections from the network; asked by the socket, as a server that
#                         requires TLS refuses a client without it
#   --innodb_initialized  InnoDB is up
set -u

defaults=/var/lib/mysql/.my-healthcheck.cnf
client() { mariadb --defaults-extra-file="$defaults" --protocol=socket --skip-column-names --batch "$@"; }

[ $# -gt 0 ] || { echo 'no check requested' >&2 && exit 1; }
for check in "$@"; do
  case $check in
    --connect)
      [ "$(client --execute='SELECT @@skip_networking')" = 0 ] || {
        echo 'no connections from the network' >&2
        exit 1
      }
      ;;
    --innodb_initialized)
      [ "$(client --execute="SELECT 1 FROM information_schema.ENGINES WHERE engine = 'InnoDB' AND support IN ('YES', 'DEFAULT', 'ENABLED')")" = 1 ] || {
        echo 'InnoDB is not up' >&2
        exit 1
      }
      ;;
    *)
      echo "unknown option $check" >&2
      exit 1
      ;;
  esac
done
