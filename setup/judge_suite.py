#!/usr/bin/env python3
"""Runs all compute AmberScripts, and compute modules in assembly, of a checkout through `tangle judge`.

    setup/judge_suite.py [--tangle PROGRAM] [--only WORD] [--list] FOLDER...

FOLDER is anything with .amber or .spvasm files below it: external/vulkancts/data/vulkan/amber of KhronosGroup/VK-GL-CTS,
tests/cases of google/amber, test/fuzzers/corpora or any folder of modules of KhronosGroup/SPIRV-Tools, samples of
google/graphicsfuzz. Nothing of them is copied.

Prints how many EXPECTs hold, are contradicted, and are open, and how often each reason kept a file from being judged.
--list names the files of each row. Exit code: 1 if an EXPECT is contradicted, 2 if none was compared.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

# A file that takes longer is counted as such.
TIMEOUT = 60


def is_compute(path):
    text = path.read_text(errors="replace")
    if path.suffix == ".amber":
        return re.search(r"^\s*PIPELINE\s+compute\b", text, re.MULTILINE) is not None
    return re.search(r"^\s*OpEntryPoint\s+GLCompute\b", text, re.MULTILINE) is not None


def reason(text):
    """The reason of an error, without the file's name, its lines and its numbers, so that like ones are counted together."""
    text = text.removeprefix("error: ")
    text = text.split(".amber", 1)[-1].split(".spvasm", 1)[-1].lstrip(":, ")
    text = re.sub(r"^(line \d+:?\s*)+", "", text)
    text = re.sub(r"'[^']*'", "'…'", text)
    text = re.sub(r"\s*%\d+", "", text)
    return re.sub(r"\d+", "N", text)[:110]


def judge(tangle, path):
    """(kind, EXPECTs that hold, contradicted, open, reason)"""
    try:
        run = subprocess.run(
            [tangle, "judge", "--json", str(path)], capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return "not run", 0, 0, 0, f"more than {TIMEOUT} s"
    if run.returncode not in (0, 1):
        lines = run.stderr.strip().splitlines() or [f"exit code {run.returncode}"]
        kind = "undefined behaviour" if "undefined behaviour" in lines[-1] else "not run"
        return kind, 0, 0, 0, reason(lines[-1])
    answer = json.loads(run.stdout)
    if "expectations" in answer:
        kind = "contradicted" if answer["fails"] else "open" if answer["open"] else "holds" if answer["holds"] else "executed"
        open_ones = [line for line in answer["expectations"] if "not determined" in line]
        why = reason(open_ones[0].split("not determined: ", 1)[-1]) if kind == "open" else ""
        return kind, answer["holds"], answer["fails"], answer["open"], why
    if answer["undefined_behaviour"]:
        return "undefined behaviour", 0, 0, 0, reason(answer["undefined_behaviour"])
    return "executed", 0, 0, 0, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--tangle", default="target/release/tangle", metavar="PROGRAM")
    parser.add_argument("--only", default="", metavar="WORD", help="only files whose path has this in it")
    parser.add_argument("--list", action="store_true", help="name the files of each row")
    args = parser.parse_args()
    files = [
        path
        for folder in args.folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".amber", ".spvasm") and path.is_file() and args.only in str(path) and is_compute(path)
    ]
    if not files:
        sys.exit("no compute AmberScript and no compute module in assembly is there")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda path: judge(args.tangle, path), files))
    kinds = collections.Counter(row[0] for row in rows)
    reasons = collections.defaultdict(list)
    for path, (kind, *_, why) in zip(files, rows):
        if kind not in ("holds", "executed"):
            reasons[kind, why].append(path)
    print(f"{len(files)} compute files: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    hold, contradicted, open_ones = (sum(row[at] for row in rows) for at in (1, 2, 3))
    print(f"EXPECTs: {hold} hold, {contradicted} contradicted, {open_ones} open")
    for (kind, why), paths in sorted(reasons.items(), key=lambda row: (row[0][0], -len(row[1]))):
        print(f"{len(paths):6} {kind}" + (f": {why}" if why else ""))
        if args.list or kind == "contradicted":
            for path in paths:
                print(f"           {path}")
    if not hold + contradicted:
        print("nothing was compared")
    sys.exit(1 if contradicted else 0 if hold else 2)


if __name__ == "__main__":
    main()
