#!/usr/bin/env python3
"""farms/slurm.sh on a Slurm of its own: a job array of which one task is killed and one preempted finds what one campaign finds.

    setup/slurm_farm.py --tangle target/release/tangle [--cases 1600] [--keep]

Needs root and Debian's slurmctld, slurmd, slurm-client and munge. munged, slurmctld and four slurmd, one for each emulated node, run from a
temporary folder, with ports and sockets of their own, and end with the script. What is submitted is what the head of farms/slurm.sh says: an
array of eight tasks, and a job that merges after them. While they run,

- the tangle of one task is ended with SIGKILL, and the task requeues itself;
- a job of a partition with a higher priority preempts another task, which Slurm requeues.

The merged folder must have the findings and the statistics of the same campaign in one piece, and each of the two tasks must have begun twice.
The comparison itself must fail where a part is left out. The exit code is 1 if anything is otherwise."""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS, NODES = 8, 4
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")
# Long enough for a machine with much other load: what takes longer has stopped.
LIMIT = 3600

CONFIGURATION = """\
ClusterName=tangle
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
# A task that is requeued waits until its credential is no longer valid.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
MinJobAge=86400
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=node[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=4
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF
"""


class Wrong(Exception):
    """What is otherwise than it should be."""


def free_ports(number):
    """So many ports in a row that nobody uses."""
    for first in range(20_000, 60_000, number):
        sockets = [socket.socket() for _ in range(number)]
        try:
            for at, one in enumerate(sockets):
                one.bind(("127.0.0.1", first + at))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise Wrong("no free ports")


class Farm:
    """A Slurm of its own, in a folder."""

    def __init__(self, folder):
        self.folder, self.running = folder, []
        first = free_ports(NODES + 1)
        values = {"host": socket.gethostname().split(".")[0], "folder": folder, "controller": first, "nodes": NODES}
        text = CONFIGURATION.format(first=first + 1, last=first + NODES, **values)
        (folder / "slurm.conf").write_text(text)
        (folder / "state").mkdir()
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self):
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        names = {"socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log", "seed-file": "munge.seed", "key-file": "munge.key"}
        files = [f"--{option}={self.folder / name}" for option, name in names.items()]
        self.start("munged", "--foreground", "--force", *files)
        wait("munged", (self.folder / "munge.socket").exists)
        self.start("slurmctld", "-D", "-i")
        for number in range(1, NODES + 1):
            (self.folder / f"spool-node{number}").mkdir()
            self.start("slurmd", "-D", "-N", f"node{number}")
        wait("the nodes", lambda: self.states().count("IDLE") == NODES)
        return self

    def __exit__(self, *_):
        self.ask("scancel", "--user=root", check=False)
        for process in reversed(self.running):
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, *command):
        with open(self.folder / f"{command[0]}.out", "ab") as log:
            process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.running.append(process)

    def ask(self, *command, check=True, **variables):
        environment = self.environment | variables
        ran = subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, text=True, check=False)
        if check and ran.returncode:
            raise Wrong(f"{' '.join(command)}: {ran.stderr.strip()}")
        return ran.stdout.strip()

    def states(self):
        nodes = self.ask("scontrol", "--oneliner", "show", "nodes", check=False)
        return [facts(line).get("State", "") for line in nodes.splitlines()]

    def task(self, array, number):
        """What Slurm says of a task, as a dictionary."""
        return facts(self.ask("scontrol", "--oneliner", "show", "job", f"{array}_{number}"))

    def job(self, job):
        return facts(self.ask("scontrol", "--oneliner", "show", "job", job))


def facts(line):
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


def wait(what, is_there):
    """Waits until something is there; the limit only ends what would go on for ever."""
    end = time.monotonic() + LIMIT
    while not is_there():
        if time.monotonic() > end:
            raise Wrong(f"waited in vain for {what}")
        time.sleep(0.05)


def findings(out):
    found = (path.relative_to(out / "findings") for path in out.glob("findings/*/*"))
    return {str(path) for path in found if not path.name.startswith(".")}


def counted(out):
    """The statistics without times, and without what depends on the order of findings."""
    ledger = json.loads((out / "campaign.json").read_text())["ledger"]
    ledger["seconds"] = None
    for device in ledger["devices"].values():
        device["times"] = device["next_case"] = None
    for entry in ledger["findings"]:
        entry["folders"].sort(key=json.dumps)
    ledger["findings"].sort(key=lambda entry: json.dumps(entry, sort_keys=True))
    return ledger


def differences(one, other):
    """In what two folders of campaigns differ."""
    lost, more = findings(one) - findings(other), findings(other) - findings(one)
    if lost or more:
        yield f"{len(lost)} findings are lost, {len(more)} are there besides"
    own, seen = counted(one), counted(other)
    yield from (f"the statistics differ in {key}" for key in own.keys() | seen.keys() if own.get(key) != seen.get(key))


def processes_of(out):
    """The tangle processes that save in a folder."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(out).encode() in words and b"fuzz" in words and words[0].endswith(b"tangle"):
                yield int(entry.name)


def run(farm, tangle, folder, cases):
    options = f"--device reference:mask_always_full --profile small --cases {cases} --minimize off --witnesses 100000"
    whole, out = folder / "whole", folder / "farm"
    ran = subprocess.run([tangle, "fuzz", "--seed", "7", "--out", whole, *options.split()], capture_output=True, check=False)
    if ran.returncode != 1:
        raise Wrong(f"the campaign in one piece ended with {ran.returncode}, and there is a fault to find")
    variables = {"TANGLE": str(tangle), "TANGLE_OUT": str(out), "TANGLE_SEED": "7", "TANGLE_OPTIONS": options}
    script = ROOT / "farms/slurm.sh"
    array = farm.ask("sbatch", "--parsable", str(script), **variables)
    after = f"--dependency=afterany:{array}"
    merge = farm.ask("sbatch", "--parsable", "--array=1", after, str(script), "merge", **variables)
    killed, preempted = 2, 3
    for number in (killed, preempted):
        # It has found something and is not through: what it saved must not be lost, and not be there twice.
        part = out / f"part-{number}"
        wait(f"part {number}", lambda part=part: findings(part))
        [process] = list(processes_of(part)) or [None]
        if process is None:
            raise Wrong(f"part {number} ended before it could be disturbed: give it more --cases")
        if number == killed:
            os.kill(process, signal.SIGKILL)
        else:
            node = farm.task(array, number)["NodeList"]
            words = ("--partition=high", f"--nodelist={node}", "--cpus-per-task=4", "--wrap=true")
            farm.ask("sbatch", "--parsable", *words)
    wait("the merge", lambda: farm.job(merge)["JobState"] in ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL"))
    tasks = {number: farm.task(array, number) for number in range(1, PARTS + 1)}
    for number, task in tasks.items():
        restarts = int(task["Restarts"])
        print(f"part {number}: {task['JobState']}, {restarts} restarts, on {task['NodeList']}", flush=True)
        if task["JobState"] != "COMPLETED":
            raise Wrong(f"part {number} is {task['JobState']}")
        if restarts < (number in (killed, preempted)):
            raise Wrong(f"part {number} was not requeued")
    if farm.job(merge)["ExitCode"] != "1:0":
        raise Wrong(f"the merge ended with {farm.job(merge)['ExitCode']}")
    wrong = list(differences(whole, out / "all"))
    if wrong:
        raise Wrong("; ".join(wrong))
    # The comparison sees a part that is missing.
    seven = [out / f"part-{number}" for number in range(1, PARTS + 1) if number != killed]
    subprocess.run([tangle, "merge", *seven, "--out", folder / "seven"], capture_output=True, check=False)
    if not list(differences(whole, folder / "seven")):
        raise Wrong("the comparison does not see that a part is missing")
    ledger = counted(out / "all")
    signatures, found = len(ledger["findings"]), len(findings(out / "all"))
    print(f"{PARTS} parts, one killed, one preempted: {found} findings with {signatures} signatures, as of one campaign", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tangle", type=Path, default=ROOT / "target/release/tangle")
    parser.add_argument("--cases", type=int, default=1600, help="length of the whole sequence")
    parser.add_argument("--keep", action="store_true", help="leave the folder there")
    args = parser.parse_args()
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking or os.geteuid() != 0:
        sys.exit(f"it needs root and {', '.join(lacking) or 'nothing else'} (Debian: slurmctld slurmd slurm-client munge)")
    folder = Path(tempfile.mkdtemp(prefix="tangle-slurm-"))
    try:
        with Farm(folder) as farm:
            run(farm, args.tangle.resolve(), folder, args.cases)
    except Wrong as wrong:
        sys.exit(f"{wrong}; in {folder}")
    if args.keep:
        print(f"in {folder}")
    else:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
