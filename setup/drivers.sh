# Software Vulkan and OpenGL drivers of several ages side by side: Debian's packages, unpacked into the cache, nothing installed.
# shellcheck shell=bash disable=SC2154

# Debian 12 has its suite's drivers itself, once they are installed.
default_drivers() {
    local codename=
    [[ ! -r /etc/os-release ]] || codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    [[ $codename == bookworm ]] && have_system_lavapipe || printf 'bookworm,'
    printf 'trixie,sid,swiftshader\n'
}
have_system_lavapipe() { compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' >/dev/null; }

# The drivers that are kept: lavapipe, and those of hardware that can do without it (devices.py has the table).
kept_drivers=(lvp radeon nouveau freedreno asahi intel intel_hasvk)
# What OpenGL needs besides (12 MB to download, 50 MB on disk, of which libgallium is nearly all); Mesa 22 keeps its drivers elsewhere.
opengl_packages=(libegl1 libegl-mesa0)
# The suite whose chromium SwiftShader is taken from: of those supported, the one that needs the oldest C library.
swiftshader_suite=bookworm

# The Debian mirror that this machine's apt uses; TANGLE_DEBIAN_MIRROR names one where apt has another distribution's.
debian_mirror() {
    local suites='(sid|unstable|testing|stable|oldstable|bullseye|bookworm|trixie|forky|duke)' lists mirror
    if [[ -n ${TANGLE_DEBIAN_MIRROR:-} ]]; then
        printf '%s\n' "${TANGLE_DEBIAN_MIRROR%/}"
        return
    fi
    # Without package lists apt names all that it would get: this works before the machine's first `apt-get update`, too.
    lists=$(mktemp -d)
    mirror=$(apt-get -o Dir::State::lists="$lists" update --print-uris 2>/dev/null \
        | sed -nE "s#^'([^']*)/dists/$suites/(In)?Release(\.gpg)?'.*#\1#p" | head -n 1)
    rm -rf "$lists"
    [[ -n $mirror ]] && printf '%s\n' "$mirror"
}

# apt_tree DIR SUITE: a private apt under DIR that knows nothing but SUITE. The machine's own settings (proxy …) hold.
apt_tree() {
    local dir=$1 suite=$2 mirror keyring source base
    for keyring in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp} ''; do
        [[ ! -f $keyring ]] || break
    done
    [[ -n $keyring ]] || { echo "E: the package debian-archive-keyring is not installed" && return 1; }
    mirror=$(debian_mirror) || { echo "E: apt knows no Debian mirror (TANGLE_DEBIAN_MIRROR=URL names one)" && return 1; }
    mkdir -p "$dir"/{lists,cache/archives}/partial
    : >"$dir/status"
    base=${suite%-backports}
    for source in "$base" ${base:+"${suite#"$base"}"}; do
        [[ $source == -backports ]] && source=$suite
        [[ -z $source ]] || printf 'deb [arch=%s signed-by=%s] %s %s main\n' \
            "$(dpkg --print-architecture)" "$keyring" "$mirror" "$source"
    done >"$dir/sources.list"
    cat >"$dir/apt.conf" <<END
Dir::Etc::sourcelist "$dir/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$dir";
Dir::State::lists "$dir/lists";
Dir::State::status "$dir/status";
Dir::Cache "$dir/cache";
APT::Default-Release "$suite";
APT::Update::Error-Mode "any";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
END
    apt-get -c "$dir/apt.conf" -q update
}

# get_packages NAME SUITE WORK install|download PACKAGE…: their packages, unpacked into WORK/root, named in WORK/packages.txt.
# `PACKAGE?` is one that not every suite has.
get_packages() {
    local name=$1 suite=$2 work=$3 how=$4 conf=$3/apt/apt.conf deb package packages=()
    shift 4
    transient "$name: package list of $suite"
    apt_tree "$work/apt" "$suite" || return
    for package; do
        [[ $package == *\? && -z $(apt-cache -c "$conf" --quiet=2 show "${package%\?}" 2>/dev/null) ]] || packages+=("${package%\?}")
    done
    transient "$name: downloading"
    if [[ $how == install ]]; then
        apt-get -c "$conf" -q install -y --download-only --no-install-recommends "${packages[@]}" || return
    else
        (cd "$work/apt/cache/archives" && apt-get -c "$conf" -q download "${packages[@]}") || return
    fi
    for deb in "$work"/apt/cache/archives/*.deb; do
        unwanted "$deb" && continue
        transient "$name: unpacking $(basename "${deb%%_*}")"
        dpkg-deb -W "$deb" >>"$work/packages.txt" && dpkg-deb -x "$deb" "$work/root" || return
    done
    du -cbs "$work"/apt/cache/archives/*.deb | tail -n 1 | cut -f 1 >"$work/downloaded"
    rm -rf "$work/apt"
}

# A driver runs on the C library that it was built for where that is newer than the machine's, else on the machine's: the worker
# was built for the machine's, and C libraries are compatible in this direction only.
unwanted() {
    local theirs ours
    case $(basename "$1") in
        libc-gconv-modules* | *-data_* | *-common_*) [[ $1 != */chromium-common_* ]] ;;
        libc6_* | libgcc-s1_* | libstdc++6_*)
            theirs=$(dpkg-deb -f "$(dirname "$1")"/libc6_*.deb Version)
            ours=$(getconf GNU_LIBC_VERSION)
            dpkg --compare-versions "${theirs%%-*}" le "${ours#glibc }"
            ;;
        *) return 1 ;;
    esac
}

get_mesa() {
    local suite=$1 work=$2 folder driver manifest
    get_packages "$suite" "$suite" "$work" install mesa-vulkan-drivers libvulkan1 libstdc++6 'mesa-drm-shim?' "${opengl_packages[@]}" || return
    mkdir "$work"/{lib,icd.d}
    for folder in "$work"/root/{,usr/}lib/*-linux-gnu*; do
        if [[ -d $folder ]]; then
            find "$folder" -maxdepth 1 -name '*.so*' ! -name 'libVkLayer_*' ! -name 'libvulkan_*' -exec mv -t "$work/lib" {} + || return
        fi
    done
    for driver in "${kept_drivers[@]}"; do
        for manifest in "$work/root/usr/share/vulkan/icd.d/${driver}_icd".*json; do
            if [[ -f $manifest ]]; then
                mv "$work"/root/usr/lib/*-linux-gnu*/"libvulkan_$driver.so" "$work/" && mv "$manifest" "$work/icd.d/$driver.json" || return
            fi
        done
    done
    for manifest in "$work"/root/usr/share/glvnd/egl_vendor.d/*mesa.json; do
        if [[ -f $manifest ]] && compgen -G "$work/lib/libgallium-*.so" >/dev/null; then
            mv "$manifest" "$work/egl.json" || return
        fi
    done
    [[ -f $work/icd.d/lvp.json ]] || { echo "E: $suite has no lavapipe" && return 1; }
}

get_swiftshader() {
    local work=$1
    get_packages swiftshader "$swiftshader_suite" "$work" download chromium-common || return
    mkdir "$work/icd.d"
    mv "$work/root/usr/lib/chromium/libvk_swiftshader.so" "$work/" \
        && mv "$work/root/usr/lib/chromium/vk_swiftshader_icd.json" "$work/icd.d/swiftshader.json"
}

# get_driver NAME: on failure what was there before stays.
get_driver() {
    local name=$1 dir=$cache/drivers/$1 work=$cache/drivers/.new-$1 log=$cache/drivers/$1.log started=$SECONDS ok=yes
    scratch+=("$work")
    rm -rf "$work"
    mkdir -p "$work"
    case $name in
        swiftshader) get_swiftshader "$work" >"$log" 2>&1 || ok=no ;;
        intel-shim) build_intel_shim "$work" >"$log" 2>&1 || ok=no ;;
        *) get_mesa "$name" "$work" >"$log" 2>&1 || ok=no ;;
    esac
    transient
    if [[ $ok == no ]]; then
        rm -rf "$work"
        touch "$dir.failed"
        warn "driver $name: could not be obtained, so $(without "$dir"): $(grep -m 1 -E '^E: ' "$log" || tail -n 1 "$log")"
        say "  whole log: $log" >&2
        return
    fi
    rm -rf "$work/root" "$dir" "$dir.failed" "$log"
    mv "$work" "$dir"
    say "driver $name: $(($(<"$dir/downloaded") / 1000000)) MB downloaded, $(du -sm "$dir" | cut -f 1) MB on disk," \
        "$((SECONDS - started)) s"
}

without() { if [[ -d $1 ]]; then echo "the build got earlier stays"; else echo "it will not be tested"; fi; }

check_driver_names() {
    local name
    for name in ${1//,/ }; do
        [[ $name =~ ^[a-z0-9][a-z0-9.-]*$ ]] || die "'$name' is no suite of Debian, nor \`swiftshader\` or \`intel-shim\`"
    done
}

# chosen_drivers LIST: the names, one on a line; without a list those of the last time.
chosen_drivers() {
    local list=$1 remembered=$cache/drivers/chosen
    if [[ -n $list ]]; then
        printf '%s\n' "$list" >"$remembered"
    elif [[ -f $remembered ]]; then
        list=$(<"$remembered")
    fi
    list=${list:-$(default_drivers)}
    [[ $list == none ]] || printf '%s\n' "${list//,/$'\n'}"
}

# has_opengl NAME: false for one that an older set-up got without the packages for OpenGL.
has_opengl() {
    case $1 in
        swiftshader | intel-shim) return 0 ;;
        *) grep -q '^libegl1[[:space:]]' "$cache/drivers/$1/packages.txt" ;;
    esac
}

# setup_drivers retry|skip REFRESH LIST
setup_drivers() {
    local failed=$1 refresh=$2 list=$3 names name dir
    mkdir -p "$cache/drivers"
    names=$(chosen_drivers "$list")
    for name in $names; do
        dir=$cache/drivers/$name
        if [[ -d $dir/icd.d && $refresh == no ]] && has_opengl "$name"; then
            continue
        elif [[ -f $dir.failed && $failed == skip ]]; then
            warn "driver $name: could not be obtained the last time, so it will not be tested (\`./x setup\` tries again)"
        elif ! have apt-get || ! have dpkg-deb; then
            warn "driver $name: cannot be installed without apt and dpkg (docs/devices-setup.md says how to add a driver by hand)"
        else
            get_driver "$name"
        fi
    done
    build_probe
    python3 "$root/setup/devices.py" "$cache"
}

build_probe() {
    local source=$root/setup/probe.c probe=$cache/probe
    if [[ ! -x $probe || $source -nt $probe ]]; then
        cc -O1 -Wall -o "$probe.new" "$source" -ldl && mv "$probe.new" "$probe"
    fi
}
