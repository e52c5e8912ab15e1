#!/usr/bin/env bash
# Make $VENV from the lock file and install this checkout into it. System packages are installed when missing and allowed.
set -euo pipefail
PYTHON="${PYTHON:-python3}"
VENV="${VENV:-.venv}"

say() { printf 'setup: %s\n' "$*" >&2; }

need_package() { # what for, debian package
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        say "installing $2 ($1)"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null
    else
        say "error: $1 is missing"
        say "hint: install it first, for example: sudo apt-get install $2"
        exit 3
    fi
}

[ "$(uname -s)" = Linux ] || { say "error: redtogreen runs natively on Linux only; use a Linux container or WSL"; exit 3; }
command -v "$PYTHON" >/dev/null || need_package "Python 3.11 or newer" python3
command -v git >/dev/null || need_package "git" git
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    say "error: $("$PYTHON" --version) is too old, 3.11 or newer is needed"
    say "hint: make PYTHON=/path/to/python3.11 demo"
    exit 3
}
"$PYTHON" -c 'import ensurepip, venv' 2>/dev/null ||
    need_package "the venv module" "python$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"

[ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV"
"$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
"$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
