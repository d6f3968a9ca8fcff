#!/usr/bin/env python3
"""How fast does a campaign find faults of a driver? Measured on lavapipe with one seeded fault a build.

    seeded.py build WORK [NAME…]            builds the unharmed driver and one with each fault, from Debian's source of Mesa
    seeded.py measure WORK [OPTION…] [NAME…]  runs a campaign on each and prints the processor time to the first finding
    seeded.py list                          the faults

WORK is a folder of a few GB. `build` needs the packages that it names where one is missing, and takes about 250 s of processor
time, and 2 to 20 for each fault. What was built is not built again.

A finding counts where the unharmed build passes the same case. Time is that of tangle and of its worker, not of the clock.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The Mesa that the faults are written for, the newest that Debian 12's tools build.
SUITE = "trixie"
VERSION = "25.0.7"
LLVM = "llvm-config-19"
PACKAGES = (
    "llvm-19-dev bison flex glslang-tools libelf-dev libexpat1-dev zlib1g-dev libzstd-dev libdrm-dev pkg-config ninja-build"
    " python3-venv dpkg-dev"
)
PYTHON = ["meson==1.7.0", "mako==1.3.9", "pyyaml==6.0.2", "packaging==24.2", "setuptools==75.8.0"]
LIBRARY = "src/gallium/targets/lavapipe/libvulkan_lvp.so"
OFF = "glx egl gbm gles1 gles2 glvnd gallium-va gallium-vdpau libunwind lmsensors valgrind shader-cache".split()
UNHARMED = "unharmed"


def fail(message):
    sys.exit(f"seeded: {message}")


def faults(names):
    """The faults of the table, all or those named."""
    table = {fault["name"]: fault for fault in tomllib.loads((HERE / "faults.toml").read_text())["fault"]}
    for name in names:
        if name not in table:
            fail(f"there is no fault '{name}' (seeded.py list)")
    return [fault for fault in table.values() if not names or fault["name"] in names]


# ---- building


def mirror():
    """The Debian mirror that this machine's apt uses."""
    script = f'. "{ROOT}/setup/drivers.sh"; debian_mirror'
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    return found.stdout.strip() or fail("apt knows no Debian mirror (TANGLE_DEBIAN_MIRROR=URL names one)")


def get_source(work):
    """Mesa's source as Debian has it, without Debian's patches."""
    source = work / f"mesa-{VERSION}"
    if not source.exists():
        archive = work / f"mesa_{VERSION}.orig.tar.xz"
        if not archive.exists():
            url = f"{mirror()}/pool/main/m/mesa/{archive.name}"
            subprocess.run(["curl", "-sfL", "-o", archive, url], check=True)
        subprocess.run(["tar", "-xf", archive, "-C", work], check=True)
    return source


def get_tools(work):
    """The environment in which Meson and Mesa's scripts run."""
    tools = work / "tools"
    if not (tools / "bin/meson").exists():
        if subprocess.run(["dpkg", "-s", *PACKAGES.split()], capture_output=True).returncode != 0:
            fail(f"packages are missing: apt-get install --no-install-recommends {PACKAGES}")
        subprocess.run([sys.executable, "-m", "venv", tools], check=True)
        subprocess.run([tools / "bin/pip", "install", "-q", *PYTHON], check=True)
    return os.environ | {"PATH": f"{tools / 'bin'}:{os.environ['PATH']}"}


def configure(source, build, env):
    if (build / "build.ninja").exists():
        return
    native = build.parent / "native.ini"
    native.write_text(f"[binaries]\nllvm-config = '{shutil.which(LLVM) or fail(f'there is no {LLVM}')}'\n")
    options = ["-Dbuildtype=release", "-Db_ndebug=true", "-Dgallium-drivers=llvmpipe", "-Dvulkan-drivers=swrast"]
    options += ["-Dplatforms=", "-Dvideo-codecs=", "-Dopengl=false", "-Dllvm=enabled", "-Dshared-llvm=enabled"]
    options += [f"-D{part}=disabled" for part in OFF]
    subprocess.run(["meson", "setup", build, source, "--native-file", native, *options], env=env, check=True)


def ninja(build, env, log):
    with log.open("wb") as out:
        return subprocess.run(["ninja", "-C", build, LIBRARY], env=env, stdout=out, stderr=out).returncode == 0


def keep(build, drivers, name):
    """Keeps what was built as a driver with a manifest of its own."""
    folder = drivers / name
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libvulkan_lvp.so"
    subprocess.run(["strip", "--strip-unneeded", "-o", library, build / LIBRARY], check=True)
    manifest = {"file_format_version": "1.0.0", "ICD": {"library_path": str(library), "api_version": "1.4.305"}}
    (folder / "icd.json").write_text(json.dumps(manifest))


def build_all(args):
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    drivers, build = work / "drivers", work / "build"
    env = get_tools(work)
    source = get_source(work)
    configure(source, build, env)
    if not (drivers / UNHARMED / "icd.json").exists():
        print(f"{UNHARMED}: building", flush=True)
        if not ninja(build, env, work / "build.log"):
            fail(f"the build failed: {work / 'build.log'}")
        keep(build, drivers, UNHARMED)
    for fault in faults(args.names):
        name = fault["name"]
        if (drivers / name / "icd.json").exists():
            continue
        file = source / fault["file"]
        text = file.read_text()
        if text.count(fault["find"]) != 1:
            print(f"{name}: its text is not in {fault['file']} once: left out", flush=True)
            continue
        try:
            file.write_text(text.replace(fault["find"], fault["replace"]))
            built = ninja(build, env, work / f"{name}.log")
        finally:
            file.write_text(text)
        if built:
            keep(build, drivers, name)
        print(f"{name}: {'built' if built else 'does not build: ' + str(work / f'{name}.log')}", flush=True)


# ---- measuring


def processor_time(pid):
    """Seconds of processor time of a process and of all that it started, those that ended included."""
    children, own = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            own[int(entry.name)] = sum(map(int, fields[11:15]))
    total, rest = 0, [pid]
    while rest:
        process = rest.pop()
        total += own.get(process, 0)
        rest += children.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


def passes(tangle, devices, case):
    """Whether the unharmed build passes a case."""
    command = [tangle, "run", "--devices", devices, "--device", UNHARMED, case]
    return subprocess.run(command, capture_output=True).returncode == 0


def campaign(args, devices, name, seed, folder):
    """Seconds of processor time to the first finding that the unharmed build does not have; None if there was none."""
    command = [args.tangle, "fuzz", "--devices", devices, "--device", name, "--seed", str(seed), "--jobs", "1"]
    command += ["--minimize", "off", "--witnesses", "1", "--out", folder, *args.options]
    log = folder.with_name("log")
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    seen, used = set(), 0.0
    try:
        while used < args.limit and process.poll() is None:
            time.sleep(0.1)
            used = processor_time(process.pid)
            for finding in sorted(Path(folder).glob("findings/*/*/finding.json")):
                if finding not in seen:
                    seen.add(finding)
                    # What it takes to ask the unharmed build is not the campaign's.
                    process.send_signal(signal.SIGSTOP)
                    new = passes(args.tangle, devices, finding.parent)
                    process.send_signal(signal.SIGCONT)
                    if new:
                        return used
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.returncode == 2:
        fail(f"the campaign on {name} failed: {log.read_text().strip().splitlines()[-1:]}")
    return None


def measure(args):
    work = args.work.resolve()
    drivers = work / "drivers"
    chosen = [fault for fault in faults(args.names) if (drivers / fault["name"] / "icd.json").exists()]
    if args.only == "held":
        chosen = [fault for fault in chosen if fault.get("held")]
    elif args.only == "tuned":
        chosen = [fault for fault in chosen if not fault.get("held")]
    if not chosen:
        fail("nothing is built (seeded.py build WORK)")
    devices = work / "devices.toml"
    devices.write_text("".join(
        f'[[driver]]\nname = "{name}"\nmanifest = "{drivers / name / "icd.json"}"\nenv = {{ LP_NUM_THREADS = "1" }}\n\n'
        for name in [UNHARMED, *(fault["name"] for fault in chosen)]
    ))

    def one(name, seed):
        with tempfile.TemporaryDirectory() as scratch:
            return campaign(args, devices, name, seed, Path(scratch) / "out")

    results = {}
    pool = ThreadPoolExecutor(args.jobs)
    seeds = range(1, args.seeds + 1)
    asked = {fault["name"]: [pool.submit(one, fault["name"], seed) for seed in seeds] for fault in chosen}
    print(f"{'fault':44} {'area':9} seconds to the first finding, seeds {args.seeds}")
    try:
        for fault in chosen:
            name = fault["name"]
            times = results[name] = [campaign.result() for campaign in asked[name]]
            shown = "  ".join("     -" if took is None else f"{took:6.1f}" for took in times)
            print(f"{name:44} {fault['area']:9} {shown}{'   held' if fault.get('held') else ''}", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    for title, only in (("all", lambda _: True), ("held out", lambda fault: fault.get("held"))):
        times = [took for fault in chosen if only(fault) for took in results[fault["name"]]]
        if times:
            found = [took for took in times if took is not None]
            every = [args.limit if took is None else took for took in times]
            print(f"{title}: {len(found)} of {len(times)} campaigns found it within {args.limit:.0f} s of processor time,"
                  f" {100 * len(found) / len(times):.0f} %; median {statistics.median(every):.1f} s")
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    listing = commands.add_parser("list")
    listing.set_defaults(run=lambda args: [
        print(f"{fault['area']:9} {fault['name']:44} {fault['what']}") for fault in faults([])])
    for name, run in (("build", build_all), ("measure", measure)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("work", type=Path)
        command.add_argument("names", nargs="*", metavar="NAME")
        if run is measure:
            command.add_argument("--tangle", type=Path, default=ROOT / "target/release/tangle")
            command.add_argument("--seeds", type=int, default=3, help="campaigns for each fault")
            command.add_argument("--limit", type=float, default=60, help="seconds of processor time for each campaign")
            command.add_argument("--jobs", type=int, default=1, help="campaigns at once; two threads work for each")
            command.add_argument("--only", choices=["held", "tuned"], help="the faults held out, or the others")
            command.add_argument("--json", type=Path, help="write the seconds to a file")
            command.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="more options of `tangle fuzz`, after all others")
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
