#!/bin/sh
# Lints, type-checks and tests jobs/ with the pinned tools of requirements-dev.txt:  npm run jobs:check
# With the argument `tests` it only tests:  npm run jobs:test
# The tools are installed once, in a cache directory that is named by the hash of their versions.
#
#   JOBS_PYTHON       the interpreter (default python3)
#   XDG_CACHE_HOME    default ~/.cache
set -eu
cd "${0%/*}"

fail() {
  echo "jobs/check.sh: $1" >&2
  exit 1
}

python=${JOBS_PYTHON:-python3}
command -v "$python" >/dev/null ||
  fail "$python not found; install Python 3.10 or later, or set JOBS_PYTHON to its path"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') ||
  fail "$python does not run; install Python 3.10 or later, or set JOBS_PYTHON to its path"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  fail "$python is Python $version; install Python 3.10 or later, or set JOBS_PYTHON to its path"

hash=$(cksum <requirements-dev.txt | cut -d ' ' -f 1)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/app-operator/jobs-$version-$hash
if [ ! -e "$cache/complete" ]; then
  echo "jobs/check.sh: installing ruff, mypy and pytest in $cache" >&2
  mkdir -p "$cache"
  "$python" -m venv "$cache/venv" ||
    fail "cannot create a virtual environment; install Python's venv module (apt-get install python3-venv)"
  "$cache/venv/bin/pip" install -q --disable-pip-version-check --no-deps -r requirements-dev.txt ||
    fail "cannot install requirements-dev.txt from the package index; check the network and try again"
  touch "$cache/complete"
fi

export PATH="$cache/venv/bin:$PATH" RUFF_CACHE_DIR="$cache/ruff" PYTHONDONTWRITEBYTECODE=1
if [ "${1:-}" = tests ]; then exec pytest -q; fi
folders=$(find . -mindepth 1 -maxdepth 1 -type d ! -name shell ! -name tests ! -name '.*' ! -name '__*')
ruff check --quiet .
ruff format --check --quiet . || fail 'files are not formatted; run jobs/format.sh'
# shellcheck disable=SC2086  # the names of the folders have no blanks
mypy --cache-dir "$cache/mypy" --no-error-summary $folders tests
pytest
