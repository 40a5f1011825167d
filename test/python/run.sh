#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh FILE... - runs tests of the Python package, by Debian's Python if it
# has pytest, because that is where setup.sh puts it.
set -eu
export PYTHONDONTWRITEBYTECODE=1 PYTHONDEVMODE=1
for python in ${PYTHON:-/usr/bin/python3 python3}; do
    if "$python" -c 'import pytest' 2>/dev/null; then
        exec "$python" -m pytest -p no:cacheprovider -q "$@"
    fi
done
echo "skipped: pytest is not installed: apt-get install python3-pytest"
exit 77
