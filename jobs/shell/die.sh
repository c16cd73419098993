# shellcheck shell=sh
# Defines `die`, which ends a script with a reason and a message, as job_result.py ends a Job. Needs
# constants.sh.

die() {
  echo "app-operator: $1: $2" >&2
  log=${TERMINATION_LOG:-$OPERATOR_TERMINATION_LOG}
  if [ -n "${TERMINATION_LOG:-}" ] || [ -e "$log" ]; then
    echo "app-operator: $1: $2" 2>/dev/null >"$log" || true
  fi
  exit 1
}
