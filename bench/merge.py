#!/usr/bin/env python3
"""How long does it take to merge the folders of a farm?

    merge.py [--tangle FILE] [--folders 1000] [--findings 100] [--work DIR]

Runs one short campaign on the reference device with a planted fault, makes so many folders of it, each with so many findings of names of its own,
merges them, and merges them again. Prints seconds; fails if something is lost, or there twice.

On two cores of a machine with other load: see `docs/farms.md`.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def campaign(tangle, out):
    command = [tangle, "fuzz", "--device", "reference:mask_always_full", "--seed", "11", "--cases", "320", "--minimize", "off"]
    subprocess.run([*command, "--out", out], capture_output=True)
    return json.loads((out / "campaign.json").read_text())


def copy(state, original, folder, number, findings):
    """A campaign of its own: another identity, other cases."""
    shutil.copytree(original, folder / "template")
    places = sorted((original / "findings").glob("*/*"))
    device = places[0].parent.name
    (folder / "findings" / device).mkdir(parents=True)
    names = []
    for count in range(findings):
        source = folder / "template" / "findings" / device / places[count % len(places)].name
        name = f"value-{number:06x}{count:06x}"
        target = folder / "findings" / device / name
        target.mkdir()
        for file in source.iterdir():
            os.link(file, target / file.name)
        names.append(f"findings/{device}/{name}")
    entries = state["ledger"]["findings"]
    entries = [entry | {"folders": names[at :: len(entries)]} for at, entry in enumerate(entries)]
    state = state | {"id": f"{number:032x}", "ledger": state["ledger"] | {"findings": entries}}
    (folder / "campaign.json").write_text(json.dumps(state))
    for name in ("coverage.json", "stats.jsonl"):
        shutil.copy(original / name, folder / name)
    shutil.rmtree(folder / "template")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tangle", type=Path, default=ROOT / "target/release/tangle")
    parser.add_argument("--folders", type=int, default=1000)
    parser.add_argument("--findings", type=int, default=100)
    parser.add_argument("--work", type=Path, help="where the folders go, a new one in it")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        work = Path(work)
        state = campaign(args.tangle, work / "one")
        folders = []
        for number in range(args.folders):
            folders.append(work / f"part-{number}")
            folders[-1].mkdir()
            copy(state, work / "one", folders[-1], number, args.findings)
        for time_of in ("first", "again"):
            started, used = time.monotonic(), os.times()
            subprocess.run([args.tangle, "merge", *folders, "--out", work / "all"], stdout=subprocess.DEVNULL)
            now = os.times()
            processor = now.children_user + now.children_system - used.children_user - used.children_system
            print(f"{time_of}: {time.monotonic() - started:.1f} s, {processor:.1f} s of processor time", flush=True)
        found = sum(1 for _ in (work / "all/findings").glob("*/*"))
        ledger = json.loads((work / "all/campaign.json").read_text())["ledger"]
        counted = sum(entry["cases"] for entry in ledger["findings"])
        expected = args.folders * sum(entry["cases"] for entry in state["ledger"]["findings"])
        print(f"{found:,} findings, {counted:,} cases with findings")
        if found != args.folders * args.findings or counted != expected:
            raise SystemExit(f"expected {args.folders * args.findings:,} findings and {expected:,} cases")


if __name__ == "__main__":
    main()
