# Sourced by the commands beside it: finds a Python, makes a virtual environment in the checkout, installs into it.
# Use: environment NAME SYSTEM PACKAGE...   NAME: .venv-NAME   SYSTEM: "shared" to see the packages of the Python it is made from.
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

make_environment() { # PYTHON DIRECTORY [FLAG]
    rm -rf "$2"
    if ! "$1" -m venv ${3:+"$3"} "$2"; then
        # Some systems ship Python without ensurepip; virtualenv brings its own pip.
        rm -rf "$2"
        "$1" -m pip install --quiet --target "$2-bootstrap" virtualenv
        PYTHONPATH="$2-bootstrap" "$1" -m virtualenv --quiet ${3:+"$3"} "$2"
        rm -rf "$2-bootstrap"
    fi
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

environment() { # NAME SYSTEM PACKAGE...
    local python directory stamp wanted flag
    python=$(find_python) || exit 1
    directory=.venv-$1
    stamp=$directory/installed
    flag=
    [ "$2" = shared ] && flag=--system-site-packages
    wanted=$(fingerprint "$python" "$@")
    if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
        echo "Installing into $directory (once) …"
        make_environment "$python" "$directory" $flag
        environment_python=$directory/bin/python
        [ -x "$environment_python" ] || environment_python=$directory/Scripts/python.exe
        "$environment_python" -m pip install --quiet --disable-pip-version-check --constraint "${constraints:-constraints.txt}" "${@:3}"
        echo "$wanted" >"$stamp"
    fi
    environment_python=$directory/bin/python
    [ -x "$environment_python" ] || environment_python=$directory/Scripts/python.exe
}
