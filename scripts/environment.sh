# Sourced by the commands beside it: finds a Python, makes a virtual environment in the checkout, installs into it.
# Use: environment NAME FOLDER PACKAGE...   makes .venv-NAME; packages in FOLDER (may be empty) can be imported from it too.
# Afterwards $environment_python is the interpreter to use.

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3 python python3.13 python3.12 python3.11 python3.10; do
        if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
            echo "$candidate"
            return
        fi
    done
    echo "No Python 3.10 or later found. Install one, or name it: PYTHON=/path/to/python3 bash $0" >&2
    return 1
}

make_environment() { # PYTHON DIRECTORY
    rm -rf "$2"
    if ! "$1" -m venv "$2"; then
        # Some systems ship Python without ensurepip; virtualenv brings its own pip.
        rm -rf "$2"
        "$1" -m pip install --quiet --target "$2-bootstrap" virtualenv
        PYTHONPATH="$2-bootstrap" "$1" -m virtualenv --quiet "$2"
        rm -rf "$2-bootstrap"
    fi
}

use_environment() { # DIRECTORY
    environment_python=$1/bin/python
    [ -x "$environment_python" ] || environment_python=$1/Scripts/python.exe
}

fingerprint() { # PYTHON WORDS...: changes when the interpreter, the requirements or the pins change
    "$1" - "${@:2}" <<'PYTHON'
import hashlib, pathlib, sys

digest = hashlib.sha256(repr((sys.version, sys.prefix, sys.argv[1:])).encode())
for name in ("pyproject.toml", "constraints.txt", "scripts/environment.sh"):
    digest.update(pathlib.Path(name).read_bytes())
print(digest.hexdigest())
PYTHON
}

environment() { # NAME FOLDER PACKAGE...
    local python directory wanted
    python=$(find_python) || exit 1
    directory=.venv-$1
    wanted=$(fingerprint "$python" "$PWD" "$@")
    if [ "$(cat "$directory/installed" 2>/dev/null)" != "$wanted" ]; then
        echo "Installing into $directory (once) …"
        make_environment "$python" "$directory"
        use_environment "$directory"
        if [ -n "$2" ]; then
            echo "$2" >"$("$environment_python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/shared.pth"
        fi
        "$environment_python" -m pip install --quiet --disable-pip-version-check \
            --constraint "${constraints:-constraints.txt}" "${@:3}"
        echo "$wanted" >"$directory/installed"
    fi
    use_environment "$directory"
}
