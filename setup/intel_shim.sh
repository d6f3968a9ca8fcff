# Mesa's shim that lets the Intel drivers compile without an Intel GPU. Debian has shims for the other drivers, and not this one: it
# is built from the source package, with tools from Debian's packages that are unpacked and not installed.
# shellcheck shell=bash disable=SC2154

# The suite whose Mesa the shim is built from. It serves the drivers of the other suites, too: what it stands for is the kernel's
# interface, which stays.
intel_shim_suite=trixie
# The suite of the tools: of those supported, the one that needs the oldest C library.
intel_shim_tools_suite=bookworm
intel_shim_tools=(
    ninja-build python3-mako python3-markupsafe python3-yaml python3-packaging bison flex m4
    pkgconf pkgconf-bin libpkgconf3 libdrm-dev libdrm2 zlib1g-dev zlib1g libexpat1-dev libexpat1
)

# build_intel_shim WORK
build_intel_shim() {
    local work=$1 conf=$1/source/apt.conf tools=$1/root/usr bytes
    get_packages intel-shim "$intel_shim_tools_suite" "$work" download "${intel_shim_tools[@]}" || return
    transient "intel-shim: downloading Mesa's source"
    apt_tree "$work/source" "$intel_shim_suite" || return
    sed -i -n 'p; s/^deb /deb-src /p' "$work/source/sources.list"
    apt-get -c "$conf" -q update || return
    # Mesa wants a Meson of its own age; that is a program in Python, which runs anywhere.
    (cd "$work/source" && apt-get -c "$conf" -q download meson && apt-get -c "$conf" -q source --download-only mesa) || return
    dpkg-deb -x "$work"/source/meson_*.deb "$work/root" || return
    bytes=$(cat "$work"/source/mesa_*.orig.tar.* | wc -c)
    mkdir "$work/mesa" && tar -xf "$work"/source/mesa_*.orig.tar.?z -C "$work/mesa" --strip-components=1 || return
    transient "intel-shim: building"
    make_intel_shim "$work/mesa" "$work/build" "$tools" || return
    mkdir "$work/icd.d" && mv "$work/build/src/intel/tools/libintel_noop_drm_shim.so" "$work/" || return
    echo $(($(<"$work/downloaded") + bytes)) >"$work/downloaded"
    rm -rf "$work"/{source,mesa,build}
}

# make_intel_shim SOURCE BUILD TOOLS
make_intel_shim() (
    source=$1 build=$2 tools=$3
    libraries=$(echo "$tools"/lib/*-linux-gnu*)
    sed -i "s#^prefix=/usr#prefix=$tools#" "$libraries"/pkgconfig/*.pc
    export PATH=$tools/bin:$PATH PYTHONPATH=$tools/lib/python3/dist-packages LD_LIBRARY_PATH=$libraries
    export PKG_CONFIG_PATH=$libraries/pkgconfig BISON_PKGDATADIR=$tools/share/bison M4=$tools/bin/m4
    options=(-Dtools=drm-shim,intel -Dbuildtype=release -Db_ndebug=true -Dexpat=enabled)
    for list in gallium-drivers vulkan-drivers platforms video-codecs; do options+=("-D$list="); done
    for part in glx egl gbm gles1 gles2 llvm valgrind libunwind lmsensors zstd xmlconfig shader-cache; do
        options+=("-D$part=disabled")
    done
    python3 "$tools/bin/meson" setup "$build" "$source" -Dopengl=false "${options[@]}" || exit
    ninja -C "$build" src/intel/tools/libintel_noop_drm_shim.so
)
