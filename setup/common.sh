# Messages, places and the lock that the other parts of set-up share. Sourced by ./x, which sets $root.
# shellcheck shell=bash

say() { printf '%s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# transient TEXT: a progress line that the next one overwrites, also where the output goes to a log; nothing without a terminal.
exec {screen}>&1
transient() { if [[ -t $screen ]]; then printf '\r\033[K%s' "$*" >&"$screen"; fi; }

cache_dir() {
    local dir=${TANGLE_CACHE:-${XDG_CACHE_HOME:-${HOME:?"neither HOME nor TANGLE_CACHE is set"}/.cache}/tangle}
    [[ $dir == /* ]] || dir=$PWD/$dir
    printf '%s\n' "$dir"
}

cache=$(cache_dir)
export TANGLE_CACHE=$cache

# Two set-ups at once take turns: the second finds the work of the first done.
lock_cache() {
    if ! { mkdir -p "$cache" && : >>"$cache/lock"; } 2>/dev/null; then
        die "cannot write to $cache (another place: TANGLE_CACHE=DIR)"
    fi
    exec {lock_fd}>"$cache/lock"
    flock --nonblock "$lock_fd" && return
    say "another set-up is at work in $cache; waiting for it"
    flock "$lock_fd"
}
unlock_cache() { exec {lock_fd}>&-; }

# Unfinished work, removed however the script ends.
scratch=()
clean_up() { if ((${#scratch[@]})); then rm -rf -- "${scratch[@]}"; fi; }
trap clean_up EXIT
