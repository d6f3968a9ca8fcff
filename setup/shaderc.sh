# The pinned GLSL compiler, built once for all checkouts and profiles. Building it through cargo would cost 13 minutes of CPU
# in every target directory; `cargo build` finds this one through .cargo/config.toml.
# shellcheck shell=bash disable=SC2154

shaderc_version=$(sed -n 's/^shaderc = .*"=\([0-9.]*\)".*/\1/p' "$root/Cargo.toml")
# TANGLE_SHADERC: another folder to keep it in than the cache, so that a new cache need not build it again.
shaderc_dir=${TANGLE_SHADERC:-$cache}/shaderc-${shaderc_version:?"Cargo.toml pins no shaderc"}
export SHADERC_LIB_DIR=$shaderc_dir/lib

shaderc_built() { [[ -f $shaderc_dir/built && -f $SHADERC_LIB_DIR/libshaderc_combined.a ]]; }

# Prints where cargo keeps the sources that the crate ships (shaderc, glslang and SPIRV-Tools).
shaderc_sources() {
    local project=$1
    mkdir -p "$project/src"
    : >"$project/src/lib.rs"
    cat >"$project/Cargo.toml" <<END
[package]
name = "fetch"
edition = "2021"
[dependencies]
shaderc = "=$shaderc_version"
[workspace]
END
    cargo metadata --quiet --format-version 1 --manifest-path "$project/Cargo.toml" >"$project/metadata.json" || return
    python3 - "$project/metadata.json" <<'END'
import json, os, sys

packages = {package["name"]: package for package in json.load(open(sys.argv[1]))["packages"]}
print(os.path.join(os.path.dirname(packages["shaderc-sys"]["manifest_path"]), "build"))
END
}

configure_shaderc() {
    local sources=$1 build=$2 sections="-ffunction-sections -fdata-sections"
    # As the crate configures it, less everything that does not end in the archive.
    cmake -S "$sources" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
        -DCMAKE_C_FLAGS="$sections" -DCMAKE_CXX_FLAGS="$sections" \
        -DENABLE_SPVREMAPPER=OFF -DENABLE_GLSLANG_BINARIES=OFF \
        -DSPIRV_SKIP_EXECUTABLES=ON -DSPIRV_SKIP_TESTS=ON -DSPIRV_WERROR=OFF \
        -DSHADERC_SKIP_INSTALL=ON -DSHADERC_SKIP_TESTS=ON -DSHADERC_SKIP_EXAMPLES=ON \
        -DSHADERC_SKIP_EXECUTABLES=ON -DSHADERC_SKIP_COPYRIGHT_CHECK=ON
}

# Turns ninja's "[n/of] …" lines into one moving line on a terminal, and into a line at every tenth elsewhere.
ninja_progress() {
    local line step of tenth=0 steps='^\[([0-9]+)/([0-9]+)\]'
    while IFS= read -r line; do
        [[ $line =~ $steps ]] || continue
        step=${BASH_REMATCH[1]} of=${BASH_REMATCH[2]}
        transient "shaderc: [$step/$of]"
        if [[ ! -t $screen ]] && ((step * 10 / of > tenth)); then
            tenth=$((step * 10 / of))
            say "shaderc: [$step/$of] after $((SECONDS / 60)) min $((SECONDS % 60)) s"
        fi
    done
    transient
}

build_shaderc() {
    local work=$shaderc_dir.new log=$cache/shaderc-build.log sources started=$SECONDS
    scratch+=("$work")
    rm -rf "$work"
    mkdir -p "$work/lib"
    say "shaderc $shaderc_version: building it, once (4 to 8 minutes on two cores; log: $log)"
    : >"$log"
    sources=$(shaderc_sources "$work/fetch" 2>"$log") || build_failed "$log" "cargo could not get the crate shaderc $shaderc_version"
    configure_shaderc "$sources" "$work/build" >>"$log" 2>&1 || build_failed "$log" "cmake could not configure shaderc"
    ninja -C "$work/build" shaderc_combined 2>&1 | tee -a "$log" | ninja_progress \
        || build_failed "$log" "shaderc does not build"
    strip --strip-debug -o "$work/lib/libshaderc_combined.a" "$work/build/shaderc/libshaderc/libshaderc_combined.a"
    rm -rf "$work/build" "$work/fetch" "$shaderc_dir"
    { c++ --version | head -n 1 && date -u +%F; } >"$work/built"
    mv "$work" "$shaderc_dir"
    say "shaderc $shaderc_version: built in $((SECONDS - started)) s"
}

build_failed() {
    tail -n 20 "$1" >&2
    die "$2 (whole log: $1)"
}

setup_shaderc() {
    if shaderc_built; then
        say "shaderc $shaderc_version: there"
    else
        build_shaderc
    fi
    python3 "$root/setup/cargo_config.py" "$root/.cargo/config.toml" "$SHADERC_LIB_DIR"
}
