# What must come from the system: Rust, a C++ compiler and build tools, a Vulkan loader.
# shellcheck shell=bash

as_root() { [[ ${EUID:-$(id -u)} == 0 ]]; }

need_rust() {
    local bin=${CARGO_HOME:-$HOME/.cargo}/bin
    have cargo || PATH=$PATH:$bin
    have cargo || die "Rust is missing: install the stable toolchain (rustup, or your distribution's rustc and cargo), then run this again"
}

# What has to be there, as Debian calls it. The tools that only build shaderc are not needed once it is built.
missing_tools() {
    local tools=(cc:gcc c++:g++ git:git python3:python3 flock:util-linux) tool
    shaderc_built || tools+=(cmake:cmake ninja:ninja-build strip:binutils)
    for tool in "${tools[@]}"; do
        have "${tool%%:*}" || printf '%s\n' "${tool#*:}"
    done
}

package_installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# What a campaign can do without, somehow.
missing_vulkan() {
    local package
    if have dpkg-query; then
        for package in libvulkan1 mesa-vulkan-drivers; do
            package_installed "$package" || printf '%s\n' "$package"
        done
    elif ! ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1'; then
        printf '%s\n' libvulkan1
    fi
}

apt_install() {
    local log
    log=$(mktemp)
    scratch+=("$log")
    say "system packages: installing $*"
    if ! { apt-get update && apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"; } \
        </dev/null >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        return 1
    fi
}

setup_system() {
    local tools vulkan
    need_rust
    mapfile -t tools < <(missing_tools)
    mapfile -t vulkan < <(missing_vulkan)
    if ((${#tools[@]} + ${#vulkan[@]} == 0)); then
        say "system packages: all there"
        return
    fi
    if as_root && have apt-get; then
        export DEBIAN_FRONTEND=noninteractive
        if ((${#tools[@]})); then
            apt_install "${tools[@]}" || die "these packages could not be installed: ${tools[*]}"
        fi
        if ((${#vulkan[@]})); then
            apt_install "${vulkan[@]}" || warn "not installed: ${vulkan[*]}; the system's own Vulkan drivers will not be tested"
        fi
        return
    fi
    ((${#tools[@]} == 0)) || die "missing: install these (Debian's names), then run this again: ${tools[*]} ${vulkan[*]}"
    warn "not installed: ${vulkan[*]} (Debian's names); without a Vulkan loader only drivers that bring their own run"
}

# What only the tests need: headers and the loader's link, to build the exported C programs.
setup_system_of_tests() {
    local package=libvulkan-dev
    if ! have dpkg-query || package_installed "$package"; then
        return
    fi
    if as_root && have apt-get; then
        apt_install "$package" && return
    fi
    warn "not installed: $package (Debian's name); exported C programs are not built and run by the tests"
}
