# Sourced by the scripts here, first of all. Changes to the root of the source, and sets FENCEPOST_BUILD_DIR: the folder that
# everything is written below. It may be elsewhere (a relative one is seen from the caller), and the source read-only.
FENCEPOST_BUILD_DIR=$(readlink -m -- "${FENCEPOST_BUILD_DIR:-$(dirname "$(readlink -f "$0")")/../build}")
export FENCEPOST_BUILD_DIR
cd "$(dirname "$(readlink -f "$0")")/.."

# CMake 3.25 fails in such a path, or takes it for another; some of them minutes later.
refuse_misread_path() {
  case $1 in
    *[\"\;\|\<\>\*\?\[\]\#\\]* | *'${'* | *'$ENV{'* | *$'\n'*)
      echo "$(basename "$0"): CMake misreads the path $1: $2 one without \" ; | < > * ? [ ] # \\ \${ and line breaks" >&2
      exit 1
      ;;
  esac
}
refuse_misread_path "$PWD" "move the source to"
refuse_misread_path "$FENCEPOST_BUILD_DIR" "set FENCEPOST_BUILD_DIR to"
if ! mkdir -p "$FENCEPOST_BUILD_DIR" 2>/dev/null || [ ! -w "$FENCEPOST_BUILD_DIR" ]; then
  echo "$(basename "$0"): the folder $FENCEPOST_BUILD_DIR cannot be written to: set FENCEPOST_BUILD_DIR to one that can" >&2
  exit 1
fi

# ccache, npm and browsers keep files at home.
if [ ! -d "${HOME:-}" ] || [ ! -w "$HOME" ]; then
  export HOME=$FENCEPOST_BUILD_DIR/home
  mkdir -p "$HOME"
fi
# The source may be somebody else's: git refuses such a tree, for fear of what it would run there, and a build runs all of it.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' GIT_OPTIONAL_LOCKS=0
export PYTHONDONTWRITEBYTECODE=1
