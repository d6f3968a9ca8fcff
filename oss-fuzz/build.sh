#!/bin/bash -eu
# Builds the device-free targets into $OUT, with seed corpora, dictionary and options beside them. In the image of OSS-Fuzz, or
# anywhere: OUT=DIR FUZZ_FLAGS="-s none" oss-fuzz/build.sh

# However it is started: a target that does not build must not go unnoticed.
set -eu

root=$(cd "$(dirname "$0")" && pwd)
# In the image this script is copied to $SRC.
[[ -f $root/../fuzz/Cargo.toml ]] && root=$(dirname "$root") || root=${SRC:?}/tangle
files=$root/oss-fuzz
targets="case_json predict"

cd "$root"
# The flags are words.
# shellcheck disable=SC2086
for target in $targets; do
    cargo fuzz build ${FUZZ_FLAGS:--O --debug-assertions} "$target"
done

mkdir -p "${OUT:?}"
built=${CARGO_TARGET_DIR:-fuzz/target}/x86_64-unknown-linux-gnu/release
for target in $targets; do
    cp "$built/$target" "$OUT/"
    cp "$files/$target.options" "$OUT/"
    rm -f "$OUT/${target}_seed_corpus.zip"
    # Saved cases; expectations.toml is none.
    find corpus -name '*.json' -print0 | xargs -0 python3 "$files/seeds.py" "$OUT/${target}_seed_corpus.zip"
done
cp "$files/case.dict" "$OUT/"
