#!/usr/bin/env python3
"""measure.py JUDGE [SECONDS [SEEDS]]: how many inputs, and how long, `judge` takes to catch planted faults of the reference device:
with typed mutation and the extra counters, without the counters, and with new cases only. Prints a Markdown table of medians;
`>` marks that most runs did not catch the fault in time."""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

FAULTS = """
early_return_no_copy_out switch_merge_loses_lanes switch_sees_one_lane short_circuit_with_all_lanes identity_unsigned
wide_identity_narrow cluster_of_two quad_broadcast_first_quad gt_mask_too_long inverse_ballot_neighbour
""".split()
WAYS = {"mutation and counters": "", "mutation only": "feedback", "new cases only": "feedback,mutation"}


def catch(judge, fault, without, seed, limit):
    """Inputs until the fault is caught (None if it is not), and seconds."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(
            os.environ,
            TANGLE_FUZZ_DEVICES=f"reference:{fault}",
            TANGLE_FUZZ_OUT=folder,
            TANGLE_FUZZ_WITHOUT=without,
        )
        os.mkdir(f"{folder}/corpus")
        options = [f"-seed={seed}", "-len_control=0", "-max_len=262144", f"-max_total_time={limit}"]
        command = [judge, *options, f"-artifact_prefix={folder}/", f"{folder}/corpus"]
        started = time.monotonic()
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
        found = re.search(r"^finding .*, input (\d+), ", ran.stderr, re.MULTILINE)
        return (int(found[1]) if found else None), time.monotonic() - started


def main():
    judge = sys.argv[1]
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    print("| planted fault | " + " | ".join(WAYS) + " |")
    print("|---|" + "---|" * len(WAYS))
    for fault in FAULTS:
        cells = []
        for without in WAYS.values():
            runs = [catch(judge, fault, without, seed, limit) for seed in range(1, seeds + 1)]
            caught = [inputs if inputs is not None else float("inf") for inputs, _ in runs]
            seconds = statistics.median(seconds for _, seconds in runs)
            inputs = statistics.median_low(caught)
            text = f"{inputs:,} in {seconds:.1f} s" if inputs != float("inf") else f"> {limit} s"
            cells.append(f"{text} ({sum(c != float('inf') for c in caught)}/{seeds})")
        print(f"| `{fault}` | " + " | ".join(cells) + " |", flush=True)


main()
