#!/bin/sh
# Formats jobs/ and fixes what ruff can fix. Needs the tools that check.sh installs.
set -eu
cd "${0%/*}"
version=$("${JOBS_PYTHON:-python3}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
hash=$(cksum <requirements-dev.txt | cut -d ' ' -f 1)
ruff=${XDG_CACHE_HOME:-$HOME/.cache}/app-operator/jobs-$version-$hash/venv/bin/ruff
"$ruff" check --no-cache --fix-only --quiet .
"$ruff" format --no-cache --quiet .
