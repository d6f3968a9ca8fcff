"""Lists the drivers that set-up got in devices.toml, keeping what a person changed there, and tries each once.

    devices.py CACHE
"""

import json
import os
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

try:
    import tomllib
except ImportError:  # before Python 3.11
    tomllib = None

HEADER = """\
# The Vulkan and OpenGL drivers, and the WebGPU runtimes on these, that `tangle` tests, besides those installed in the system. Written by `./x setup`.
#
# Edit freely: `./x setup` keeps an entry that was changed, leaves out one that was deleted, and brings the others up to date.
# Delete the file to get all of it back.
#
#   name      unique; letters, digits, dots and dashes
#   api       optional: "opengl" for an OpenGL driver, "webgpu" for Dawn on a Vulkan driver
#   manifest  the driver's manifest (JSON), given to the Vulkan loader; of an OpenGL driver, that of its EGL, given to libglvnd
#   prefix    optional: a command put before the program that loads the driver
#   env       optional: environment variables for that program
#   jobs      optional: how many workers a campaign runs on it, instead of its share of the processors
#   mode      optional: "compile-only" for a driver without its hardware; its pipelines are created and nothing is run
#   debug     optional: true where `env` has settings that only who debugs the driver has; findings are of severity "quality" then
#   timeout_s, worker, remote: docs/devices-setup.md
"""
# A campaign runs one worker for each processor, so that a driver that starts threads for all of them in each gains nothing.
LAVAPIPE_ENV = {"LP_NUM_THREADS": 1}
ENTRY = re.compile(r"^\s*\[\[\s*driver\s*\]\]", re.MULTILINE)
NAME = re.compile(r"""^\s*name\s*=\s*["']([^"']*)["']""", re.MULTILINE)


def write(path, text):
    """Replaces a file as a whole, or leaves it untouched where it says so already."""
    if not path.exists() or path.read_text() != text:
        temporary = path.with_name(path.name + ".new")
        temporary.write_text(text)
        temporary.replace(path)


def quote(text):
    """A JSON string is a TOML string."""
    return json.dumps(str(text), ensure_ascii=False)


class Hardware(NamedTuple):
    """A driver that compiles without its hardware: a preloaded shim stands for the kernel's side of it."""

    name: str
    driver: str  # libvulkan_DRIVER.so
    shim: str  # libSHIM_noop_drm_shim.so
    variable: str  # names the chip to the shim
    chips: dict  # what names it, by the chip's name here; older suites get the first one only


HARDWARE = [
    Hardware("radv", "radeon", "amdgpu", "AMDGPU_GPU_ID", {"navi21": "navi21", "vega10": "vega10", "gfx1201": "gfx1201"}),
    Hardware("nvk", "nouveau", "nouveau", "NOUVEAU_CHIPSET", {"ampere": "172", "maxwell": "120"}),
    Hardware("turnip", "freedreno", "freedreno", "FD_GPU_ID", {"a750": "750", "a630": "630"}),
    Hardware("honeykrisp", "asahi", "asahi", "", {"m1": ""}),
    Hardware("anv", "intel", "intel", "INTEL_STUB_GPU_PLATFORM", {"dg2": "dg2", "skl": "skl", "bmg": "bmg"}),
    Hardware("hasvk", "intel_hasvk", "intel", "INTEL_STUB_GPU_PLATFORM", {"bdw": "bdw"}),
]
# The suite whose drivers are listed with all their chips: the newest.
NEWEST = "sid"
# Compiling is quick, so these drivers would take more than their share of the processor.
GIVES_WAY = ["nice", "-n", "10"]


def entry(name, package, manifest, prefix=(), env=None, compile_only=False, api=None, debug=False):
    """One entry as text."""
    lines = ["[[driver]]", f"name = {quote(name)}  # {package}", f"manifest = {quote(manifest)}"]
    if api:
        lines.insert(2, f"api = {quote(api)}")
    if prefix:
        lines.append(f"prefix = [{', '.join(map(quote, prefix))}]")
    if env:
        lines.append(f"env = {{ {', '.join(f'{key} = {quote(value)}' for key, value in env.items())} }}")
    if compile_only:
        lines.append('mode = "compile-only"')
    if debug:
        lines.append("debug = true")
    return "\n".join(lines) + "\n"


def entries(drivers, wide_vectors, system=None, runtime=None):
    """The entries for the drivers found in a folder, for the lavapipe with the manifest `system`, and for the WebGPU runtime in the folder `runtime`
    on the newest of these, in text form by name."""
    found, webgpu = {}, {}
    if system:
        found |= lavapipes("lvp", "installed in the system", system, wide_vectors)
    shims = {path.name: path for path in drivers.glob("[!.]*/*_drm_shim.so")}
    for folder in sorted(path.parent for path in drivers.glob("[!.]*/icd.d")):
        package = provenance(folder)
        manifests = {path.stem: absolute_manifest(folder, path) for path in (folder / "icd.d").glob("*.json")}
        if "swiftshader" in manifests:
            found["swiftshader"] = entry("swiftshader", package, manifests["swiftshader"])
            webgpu["webgpu-swiftshader"] = entry("webgpu-swiftshader", package, manifests["swiftshader"], api="webgpu")
        if "lvp" in manifests:
            name = f"lavapipe-{folder.name}"
            found |= lavapipes(name, package, manifests["lvp"], wide_vectors, *started(folder))
            if folder.name == NEWEST:
                prefix, env = started(folder)
                webgpu[f"webgpu-{name}"] = entry(f"webgpu-{name}", package, manifests["lvp"], prefix, LAVAPIPE_ENV | env, api="webgpu")
            if (folder / "egl.json").is_file():
                found |= opengl(folder, package, manifests["lvp"])
        for hardware in HARDWARE:
            if hardware.driver in manifests:
                found |= compilers(hardware, folder, package, manifests[hardware.driver], shims)
    # Behind the drivers that they run on.
    return found | (webgpu if runtime and (runtime / "version").is_file() else {})


def started(folder, shim=None):
    """Prefix and environment that start a program with the libraries of a folder, and with a shim preloaded."""
    libraries = folder / "lib"
    loader = next(libraries.glob("ld-linux*.so.*"), None)
    if loader:
        return [loader, "--library-path", libraries, *(["--preload", shim] if shim else [])], {}
    return [], {"LD_LIBRARY_PATH": libraries} | ({"LD_PRELOAD": shim} if shim else {})


def lavapipes(name, package, manifest, wide_vectors, prefix=(), env=None):
    """lavapipe at each vector width; the subgroup size is the width over 32. Unset, it is 256 where the CPU has AVX, else 128: only a debug
    setting makes it 512 (Mesa, `lp_build_init_native_width`)."""
    env = LAVAPIPE_ENV | (env or {})
    found = {name: entry(name, package, manifest, prefix, env)}
    for width in [128, 512] if wide_vectors else [128]:
        widened = f"{name}-w{width}"
        wide = env | {"LP_NATIVE_VECTOR_WIDTH": width}
        found[widened] = entry(widened, package, manifest, prefix, wide, debug=width == 512)
    return found


def opengl(folder, package, lavapipe):
    """Mesa's OpenGL drivers that need no hardware: zink, which is OpenGL on Vulkan, on lavapipe, and llvmpipe."""
    prefix, env = started(folder)
    env = LAVAPIPE_ENV | env | {"LIBGL_ALWAYS_SOFTWARE": 1}
    on_lavapipe = {"GALLIUM_DRIVER": "zink", "VK_DRIVER_FILES": lavapipe, "VK_ICD_FILENAMES": lavapipe}
    found = {}
    for driver, own in ("zink", on_lavapipe), ("llvmpipe", {"GALLIUM_DRIVER": "llvmpipe"}):
        name = f"gl-{driver}-{folder.name}"
        found[name] = entry(name, package, folder / "egl.json", prefix, env | own, api="opengl")
    return found


def compilers(hardware, folder, package, manifest, shims):
    """A hardware driver of a suite for each of its chips; none where its shim is missing."""
    file = f"lib{hardware.shim}_noop_drm_shim.so"
    shim = next((path for path in [folder / "lib" / file, shims.get(file)] if path and path.exists()), None)
    chips = list(hardware.chips.items())
    found = {}
    for chip, value in chips if folder.name == NEWEST else chips[:1]:
        if shim:
            name = f"{hardware.name}-{folder.name}-{chip}"
            prefix, env = started(folder, shim)
            env |= {hardware.variable: value} if hardware.variable else {}
            found[name] = entry(name, package, manifest, [*GIVES_WAY, *prefix], env, compile_only=True)
    return found


def provenance(folder):
    """The driver's package and its version."""
    for line in (folder / "packages.txt").read_text().splitlines():
        package, version = line.split("\t")
        if package in ("mesa-vulkan-drivers", "chromium-common"):
            return f"{package} {version}"
    return folder.name


def absolute_manifest(folder, packaged):
    """The packaged manifest with the library's real place in it, written beside the library."""
    manifest = json.loads(packaged.read_text())
    library = folder / Path(manifest["ICD"]["library_path"]).name
    manifest["ICD"]["library_path"] = str(library)
    path = folder / packaged.name
    write(path, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return path


def system_lavapipe(folder=Path("/usr/share/vulkan/icd.d")):
    """The manifest of the lavapipe that is installed for this machine's architecture."""
    places = [folder / f"lvp_icd.{platform.machine()}.json", folder / "lvp_icd.json"]
    return next((path for path in places if path.is_file()), None)


def split(text):
    """What stands before the first entry, and the entries as (name, text)."""
    starts = [match.start() for match in ENTRY.finditer(text)]
    blocks = [text[start:end].strip() + "\n" for start, end in zip(starts, [*starts[1:], len(text)])]
    names = [match.group(1) if (match := NAME.search(block)) else None for block in blocks]
    return text[: starts[0] if starts else len(text)].strip(), list(zip(names, blocks))


def merge(current, written, new):
    """The text of devices.toml: as it is now, as set-up last wrote it (both None the first time), and what set-up has now."""
    if current is None:
        return "\n".join([HEADER, *new.values()])
    head, blocks = split(current)
    before = dict(split(written or "")[1])
    kept = []
    for name, block in blocks:
        if name is None or before.get(name) != block:
            kept.append(block)
        elif name in new:
            kept.append(new[name])
    there = {name for name, _ in blocks}
    kept += [block for name, block in new.items() if name not in there and name not in before]
    return "\n".join([head + "\n", *kept]) if head else "\n".join(kept)


def probe(program, driver):
    """What a driver says of itself, and whether it works."""
    manifest = driver.get("manifest")
    if manifest and not Path(manifest).is_file():
        return f"there is no {manifest}", False
    env = os.environ | {"VK_LOADER_LAYERS_DISABLE": "~implicit~", "MESA_SHADER_CACHE_DISABLE": "true"}
    is_opengl = driver.get("api") == "opengl"
    if manifest and is_opengl:
        env |= {"__EGL_VENDOR_LIBRARY_FILENAMES": manifest}
    elif manifest:
        env |= {"VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest}
    env |= {key: str(value) for key, value in driver.get("env", {}).items()}
    try:
        run = subprocess.run(
            [*driver.get("prefix", []), str(program), *(["opengl"] if is_opengl else [])], env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=30,
            encoding="utf-8", errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "does not answer", False
    except OSError as error:
        return str(error), False
    if run.returncode == 0:
        lines = run.stdout.strip().splitlines()
        return "\n".join(f"WebGPU on {line}" if driver.get("api") == "webgpu" else line for line in lines), True
    if run.returncode < 0:
        return f"crashes (signal {-run.returncode})", False
    return (run.stderr.strip().splitlines() or [f"exit status {run.returncode}"])[-1], False


def check(path, program):
    """Prints a line for each device of each driver."""
    if tomllib is None:
        print(f"devices: listed in {path}; not tried, because that takes Python 3.11")
        return
    try:
        listed = tomllib.loads(path.read_text()).get("driver", [])
    except tomllib.TOMLDecodeError as error:
        print(f"warning: {path} cannot be read: {error}; put it right, or delete it to have it written anew", file=sys.stderr)
        return
    system = {"name": "(installed in the system)"}
    print(f"devices ({path}):")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        drivers = [*listed, system]
        for driver, (answer, works) in zip(drivers, pool.map(lambda driver: probe(program, driver), drivers)):
            for line in answer.splitlines():
                print(f"  {'ok ' if works else 'NOT'}  {driver.get('name', '(without a name)'):<28}  {line}")


def main(cache):
    cache = Path(cache)
    path, last = cache / "devices.toml", cache / "drivers" / "written.toml"
    cpu = Path("/proc/cpuinfo")
    wide_vectors = cpu.exists() and " avx512f" in cpu.read_text()
    new = entries(cache / "drivers", wide_vectors, system_lavapipe(), cache / "compilers" / "tint")
    current = path.read_text() if path.exists() else None
    written = last.read_text() if last.exists() else None
    write(path, merge(current, written, new))
    write(last, "\n".join(new.values()))
    check(path, cache / "probe")


if __name__ == "__main__":
    main(*sys.argv[1:])
