#!/usr/bin/env python3
"""A campaign on a busy machine: what it reports as a hang or a crash must occur again alone.

    setup/busy_machine.py --tangle target/release/tangle --time 20m [--device NAME …]

Twenty processes compute beside the campaign and do nothing else. When it is over they end, and each saved finding of these kinds runs again with
nothing beside it: one that passes then is a false alarm, and the exit code is 1. Flakes are listed; they are no findings."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = {"crash", "device_lost", "hang", "out_of_memory"}


def again(tangle, folder, device):
    """Whether a finding fails once more. A crash may need several runs, and a hang has its time limit."""
    command = [tangle, "run", folder, "--device", device]
    return any(subprocess.run(command, capture_output=True, check=False).returncode == 1 for _ in range(3))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tangle", type=Path, default=ROOT / "target/release/tangle")
    parser.add_argument("--time", default="20m")
    parser.add_argument("--load", type=int, default=20, help="how many processes compute beside it")
    parser.add_argument("--device", action="append", default=[])
    args = parser.parse_args()
    tangle = args.tangle.resolve()
    out = Path(tempfile.mkdtemp(prefix="tangle-busy-"))
    devices = [word for name in args.device for word in ("--device", name)]
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.load)]
    try:
        campaign = [tangle, "fuzz", "--time", args.time, "--seed", "1", "--minimize", "off", "--out", out, *devices]
        ran = subprocess.run(campaign, check=False)
    finally:
        for process in load:
            process.kill()
            process.wait()
    if ran.returncode not in (0, 1):
        sys.exit(f"the campaign ended with code {ran.returncode}; it is in {out}")
    false_alarms = checked = 0
    for file in sorted(out.glob("findings/*/*/finding.json")):
        finding = json.loads(file.read_text())
        if finding["kind"] not in KINDS:
            continue
        checked += 1
        if not again(tangle, file.parent, finding["device"]):
            false_alarms += 1
            print(f"does not occur again: {file.parent}: {finding['kind']}", flush=True)
    flakes = len(list(out.glob("flakes/*/*")))
    print(f"{checked} findings of a crash, a hang or no memory, {false_alarms} of them do not occur again; {flakes} flakes; in {out}")
    sys.exit(1 if false_alarms else 0)


if __name__ == "__main__":
    main()
