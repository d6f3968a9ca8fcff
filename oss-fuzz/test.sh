#!/bin/bash
# oss-fuzz/test.sh OUT [SECONDS]: runs the fuzz targets in OUT as OSS-Fuzz does, and says for each whether it holds.
#
# What OSS-Fuzz documents (docs/further-reading/fuzzer_environment.md and infra/base-images/base-runner/run_minijail there):
#   - everything but /tmp is read-only; /tmp is small: 64 MB here
#   - no /dev, no network, an unknown working directory
#   - nothing is installed: only /lib, /lib64 and /usr/lib are there, so that no other program can be started
#   - an input may take 25 s and 2.5 GB
set -euo pipefail

out=$(readlink -f "${1:?usage: test.sh OUT [SECONDS]}")
seconds=${2:-20}
(($(id -u) == 0)) || exec unshare --map-root-user --mount --net --pid --ipc --fork "$0" "$@"

box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT

# in_box TARGET OPTION…: in a new root.
in_box() {
    unshare --mount --net --pid --ipc --fork bash -s "$box" "$out" "$@" <<'END'
set -euo pipefail
box=$1 out=$2 target=$3
shift 3
mount -t tmpfs -o size=1m none "$box"
mkdir -p "$box"/{tmp,proc,out,old}
for folder in /lib /lib64 /usr/lib; do
    [[ -e $folder ]] || continue
    mkdir -p "$box$folder"
    mount --bind "$folder" "$box$folder"
    mount -o remount,bind,ro "$box$folder"
done
mount --bind "$out" "$box/out"
mount -o remount,bind,ro "$box/out"
mount -t tmpfs -o size=64m none "$box/tmp"
mount -t proc none "$box/proc"
mkdir "$box/tmp/seeds"
python3 -m zipfile -e "$out/${target}_seed_corpus.zip" "$box/tmp/seeds"
mount -o remount,ro "$box"
exec chroot "$box" "/out/$target" "$@" /tmp/seeds
END
}

failed=0
for options in "$out"/*.options; do
    target=$(basename "${options%.options}")
    arguments=(-timeout=25 -rss_limit_mb=2560 "-max_total_time=$seconds" -artifact_prefix=/tmp/ -print_final_stats=1)
    while IFS=' =' read -r name value; do
        [[ $name == dict ]] && value=/out/$value
        arguments+=("-$name=$value")
    done < <(grep -E '^[a-z_]+ *=' "$options")
    if in_box "$target" "${arguments[@]}" >"$box.log" 2>&1; then
        echo "$target: holds;$(sed -n 's/^stat:://p' "$box.log" | tr -s ' ' | sed 's/^/ /' | tr '\n' ',')"
    else
        echo "$target: FAILS"
        tail -n 40 "$box.log"
        failed=1
    fi
    rm -f "$box.log"
done
exit $failed
