#!/usr/bin/env python3
"""Mutated inputs: cases, findings, campaigns and device files with bytes and values changed, given to tangle.

    setup/mutated_inputs.py --tangle target/release/tangle --number 20000

Whatever is in a file, tangle reads it or says in a line what is wrong: no panic, no signal, at most 10 seconds of processor time and 1 GB of
memory, and it does not sleep: it ends within 2 minutes. What breaks that is kept in the folder named at the end. A build with debug assertions also
finds arithmetic that overflows. Frames between tangle and its workers:

    TANGLE_FRAMES=40000 cargo test --release -p tangle-runner --test supervision spoilt_answers"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 10
# By the clock, for what waits and computes nothing: far more than a busy machine needs.
LONGEST = 120
MEMORY = 1 << 30
# Address space is more than memory: a program reserves stacks and arenas that it does not touch.
ADDRESSES = 4 << 30
FUZZ = ["fuzz", "--device", "reference:mask_always_full", "--seed", "11", "--profile", "small", "--minimize", "off"]
NUMBERS = [0, -1, 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 1e308, 0.5, 10**30]
WORDS = ["", "..", "/", "/dev/zero", "\u001b[31m", "x" * 100_000, "\u0000", "%s%n", "@CONSTANTS@"]
DEVICES = """[[driver]]
name = "a"
manifest = "/no/such.json"
jobs = 2
timeout_s = 1.5
prefix = ["env"]
environment = { A = "b" }
mode = "execute"
"""


def places(value, path=()):
    """The path of every value in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def mutate_json(text, rng):
    """Another value somewhere: a number, a string, another part of the same file, nothing, or itself many times over."""
    value = json.loads(text)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        path = rng.choice(list(places(value)))
        if not path:
            continue
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        kind = rng.randrange(6)
        if kind == 0:
            holder[path[-1]] = rng.choice(NUMBERS)
        elif kind == 1:
            holder[path[-1]] = rng.choice(WORDS)
        elif kind == 2:
            other = value
            for key in rng.choice(list(places(value))):
                other = other[key]
            holder[path[-1]] = json.loads(json.dumps(other))
        elif kind == 3:
            del holder[path[-1]]
        elif kind == 4:
            inner = holder[path[-1]]
            for _ in range(rng.choice([3, 200])):
                inner = [inner]
            holder[path[-1]] = inner
        elif isinstance(holder, list):
            holder.extend([holder[path[-1]]] * rng.choice([1, 1000]))
        else:
            holder["unknown"] = holder[path[-1]]
    return json.dumps(value).encode()


def mutate_bytes(data, rng):
    """Bytes changed, cut off, doubled or swapped."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 10])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(4)
        if kind == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 1:
            del data[at : at + rng.choice([1, 10, 1000])]
        elif kind == 2:
            data[at:at] = data[at : at + rng.choice([1, 20])] * rng.choice([1, 100])
        else:
            data[at:at] = rng.choice(WORDS + [str(number) for number in NUMBERS]).encode()
    return bytes(data)


def mutated(data, rng):
    if rng.random() < 0.7:
        try:
            return mutate_json(data, rng)
        except (ValueError, UnicodeDecodeError, RecursionError):
            pass
    return mutate_bytes(data, rng)


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fault_of(command, folder):
    """What a command does that it must not, in words."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, preexec_fn=limit,
            start_new_session=True,
        )
        end = time.monotonic() + LONGEST
        ended, status, usage = os.wait4(child.pid, os.WNOHANG)
        while not ended and time.monotonic() < end:
            time.sleep(0.005)
            ended, status, usage = os.wait4(child.pid, os.WNOHANG)
        if not ended:
            os.killpg(child.pid, signal.SIGKILL)
            os.wait4(child.pid, 0)
        child.returncode = 0
        output.seek(0)
        said = output.read(1 << 20).decode(errors="replace")
    if not ended:
        return f"still runs after {LONGEST} seconds", said
    code = os.waitstatus_to_exitcode(status)
    memory = usage.ru_maxrss * 1024
    if code < 0:
        return f"signal {-code}", said
    if code not in (0, 1, 2, 3) or "panicked at" in said:
        return f"code {code}", said
    if memory > MEMORY:
        return f"{memory >> 20} MB", said
    return None, said


class Inputs:
    """What is mutated, and what reads it."""

    def __init__(self, tangle, folder):
        self.tangle = tangle
        self.cases = sorted((ROOT / "corpus").glob("*/*.json"))
        self.campaign = folder / "campaign"
        ran = subprocess.run([tangle, *FUZZ, "--cases", "100", "--out", self.campaign], capture_output=True, check=False)
        if not list(self.campaign.glob("findings/*/*/finding.json")):
            sys.exit(f"the campaign found nothing: {ran.stderr.decode()}")
        self.finding = sorted(self.campaign.glob("findings/*/*"))[0]
        # What a run that was killed leaves.
        (self.campaign / "in-flight/reference_mask_always_full/101.json").write_bytes(self.cases[0].read_bytes())
        (self.campaign / "in-flight/reference_mask_always_full/running-0").write_bytes((13).to_bytes(8, "little"))
        running = {"boot": "another", "kills": None, "trial": None}
        suspects = {"running": running, "suspects": [], "guilty": {"reference:mask_always_full": {"12": "crashed"}}}
        (self.campaign / "suspects.json").write_text(json.dumps(suspects))
        self.kinds = [self.case, self.case, self.of_finding, self.of_campaign, self.devices, self.run_on, self.run_on]

    def case(self, rng, folder):
        data = rng.choice(self.cases).read_bytes()
        (folder / "case.json").write_bytes(mutated(data, rng))
        return rng.choice([["show", "case.json"], ["run", "case.json", "--device", "reference"]])

    def of_finding(self, rng, folder):
        shutil.copytree(self.finding, folder / "finding")
        file = rng.choice(sorted(path for path in (folder / "finding").iterdir() if path.is_file()))
        file.write_bytes(mutated(file.read_bytes(), rng))
        return rng.choice(
            [
                ["explain", "finding"],
                ["show", "finding"],
                ["report", "finding", "--out", "out.html"],
                ["replay", "finding", "--device", "reference"],
                ["minimize", "finding", "--tries", "50", "--time", "20s"],
            ]
        )

    def mutated_campaign(self, rng, folder):
        shutil.copytree(self.campaign, folder / "campaign")
        files = [path for path in (folder / "campaign").rglob("*") if path.is_file() and path.suffix in (".json", ".jsonl", "")]
        # What there is one of as often as what there are hundreds of.
        names = sorted({path.name for path in files})
        name = rng.choice(names)
        file = rng.choice(sorted(path for path in files if path.name == name))
        file.write_bytes(mutated(file.read_bytes(), rng))

    def run_on(self, rng, folder):
        self.mutated_campaign(rng, folder)
        return [*FUZZ, "--cases", "120", "--out", "campaign"]

    def of_campaign(self, rng, folder):
        self.mutated_campaign(rng, folder)
        return rng.choice([["report", "campaign", "--out", "out"], ["coverage", "campaign"], ["merge", "--out", "merged", "campaign"]])

    def devices(self, rng, folder):
        (folder / "devices.toml").write_bytes(mutate_bytes(DEVICES.encode(), rng))
        return ["devices", "--devices", "devices.toml"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tangle", type=Path, default=ROOT / "target/release/tangle")
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    kept = Path(tempfile.mkdtemp(prefix="tangle-mutated-"))
    inputs = Inputs(args.tangle.resolve(), kept)
    failed = 0
    read = 0
    for number in range(args.seed, args.seed + args.number):
        rng = random.Random(number)
        folder = kept / str(number)
        folder.mkdir()
        words = inputs.kinds[number % len(inputs.kinds)](rng, folder)
        fault, said = fault_of([inputs.tangle, *words], folder)
        if fault:
            failed += 1
            (folder / "said.txt").write_text(said)
            print(f"{folder}: tangle {' '.join(words)}: {fault}", flush=True)
        else:
            read += not said.startswith("error: ")
            shutil.rmtree(folder)
    print(f"{args.number} mutated inputs, {read} of them read all the same; {failed} faults")
    if failed:
        sys.exit(f"kept in {kept}")
    shutil.rmtree(kept)


if __name__ == "__main__":
    main()
