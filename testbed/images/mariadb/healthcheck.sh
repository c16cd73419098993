#!/bin/bash
# TEST CODE: the official image's check, with the options that the operator uses.
#   --connect             a connection by TCP gets an answer, even if that is a refusal
#   --innodb_initialized  InnoDB is up
set -u

defaults=/var/lib/mysql/.my-healthcheck.cnf
client() { mariadb --defaults-extra-file="$defaults" --host=127.0.0.1 --protocol=tcp --skip-column-names --batch "$@"; }

[ $# -gt 0 ] || { echo 'no check requested' >&2 && exit 1; }
for check in "$@"; do
  case $check in
    --connect)
      # Refused, it still answered: 1045 is for a wrong password.
      message=$(client --execute='SELECT 1' 2>&1) || case $message in *'ERROR 1045'*) ;; *)
        echo "$message" >&2
        exit 1
        ;;
      esac
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
