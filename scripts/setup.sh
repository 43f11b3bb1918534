#!/bin/sh
# Make .venv with the pinned packages of the given requirements file. Does nothing when that has been done.
set -eu

wanted=$1
stamp=.venv/.installed-$(basename "$wanted" .txt)

say() { printf '%s\n' "$*" >&2; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
        if command -v "$candidate" >/dev/null 2>&1 && new_enough "$candidate"; then
            printf '%s' "$candidate"
            return
        fi
    done
    say "Python 3.11 or newer is needed and was not found: install it, or name it with PYTHON=/path/to/python3."
    exit 2
}

fingerprint() {
    .venv/bin/python - requirements.txt requirements-dev.txt constraints.txt <<'PROGRAM'
import hashlib, pathlib, sys
files = b"\0".join(pathlib.Path(name).read_bytes() for name in sys.argv[1:])
print(hashlib.sha256(files).hexdigest(), sys.version.split()[0], sys.prefix)
PROGRAM
}

if [ -f "$stamp" ] && now=$(fingerprint 2>/dev/null) && [ "$now" = "$(cat "$stamp")" ]; then
    exit 0
fi

# An environment that is broken, too old, or was moved here is made anew.
if ! new_enough .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    rm -rf .venv
    say "Making the environment in .venv with $($python --version) …"
    if ! problem=$("$python" -m venv .venv 2>&1); then
        rm -rf .venv
        say "Python's venv module does not work here: install it (on Debian and Ubuntu: apt install python3-venv)."
        say "$problem" | tail -n 1
        exit 2
    fi
fi

say "Installing packages (about a minute the first time) …"
if ! .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input -r "$wanted"; then
    say "The packages could not be installed: see pip's message above, then run the same command again."
    exit 2
fi
fingerprint >"$stamp"
