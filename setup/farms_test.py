"""farms/: the files for Kubernetes and GitLab have the form that these take, and start the parts that they say.

Where `kubernetes-validate` and `check-jsonschema` are installed (PyPI: pip install kubernetes-validate check-jsonschema), their schemas are asked; the
rest holds without them: keys, names that have to fit, and what the scripts start, with a stub in the place of tangle.
"""

import copy
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

try:
    import yaml
except ImportError:
    yaml = None

FARMS = Path(__file__).resolve().parent.parent / "farms"
# Kubernetes, API reference of batch/v1 Job and of Container; GitLab, "CI/CD YAML syntax reference". What the files use of them.
JOB = {"apiVersion", "kind", "metadata", "spec"}
SPEC = {"completionMode", "completions", "parallelism", "backoffLimitPerIndex", "template"}
POD = {"restartPolicy", "containers", "volumes"}
CONTAINER = {"name", "image", "command", "args", "resources", "volumeMounts"}
GITLAB_JOB = {"stage", "parallel", "script", "artifacts", "needs", "when", "extends", "variables"}


def read(name):
    return yaml.safe_load((FARMS / name).read_text())


def of_kubernetes(job):
    """What is wrong with a job, in words."""
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    for what, keys in ((job, JOB), (spec, SPEC), (pod, POD), *((container, CONTAINER) for container in pod["containers"])):
        yield from (f"no key {key}" for key in set(what) - keys)
    if (job["apiVersion"], job["kind"], spec["completionMode"]) != ("batch/v1", "Job", "Indexed"):
        yield "no indexed job"
    if spec["parallelism"] > spec["completions"]:
        yield "more at a time than there are"
    if pod["restartPolicy"] not in ("Never", "OnFailure"):
        yield "a job's pod is not started again for ever"
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in pod["containers"]:
        yield from (f"no volume {mount['name']}" for mount in container["volumeMounts"] if mount["name"] not in volumes)


def of_gitlab(file):
    """What is wrong with a file, in words."""
    jobs = {name: job for name, job in file.items() if isinstance(job, dict)}
    for name, job in jobs.items():
        yield from (f"{name}: no key {key}" for key in set(job) - GITLAB_JOB)
        if not all(isinstance(line, str) for line in job["script"]):
            yield f"{name}: a line of its script is no text"
        yield from (f"{name}: no job {other}" for other in job.get("needs", []) if other not in jobs)
        if "stage" in job and job["stage"] not in file["stages"]:
            yield f"{name}: no stage {job['stage']}"


def started(script, code, **variables):
    """What a script starts with tangle, which ends with this code, and the script's own code."""
    with tempfile.TemporaryDirectory() as place:
        stub = Path(place) / "tangle"
        stub.write_text(f'#!/bin/sh\necho "$@"\nexit {code}\n')
        stub.chmod(0o755)
        env = os.environ | {"PATH": f"{place}:{os.environ['PATH']}"} | variables
        ran = subprocess.run(["/bin/sh", "-ec", script], env=env, cwd=place, capture_output=True, text=True, check=False)
        return ran.stdout.splitlines(), ran.returncode


def shard(words):
    return words.split("--shard ")[1].split()[0]


@unittest.skipIf(yaml is None, "PyYAML is not installed (Debian: python3-yaml)")
class Farms(unittest.TestCase):
    def test_kubernetes_has_the_form_of_an_indexed_job(self):
        job = read("kubernetes.yaml")
        self.assertEqual([], list(of_kubernetes(job)))
        for change in (
            lambda job: job["spec"].update(completion=8),
            lambda job: job["spec"].update(completionMode="NonIndexed"),
            lambda job: job["spec"]["template"]["spec"].update(volumes=[]),
            lambda job: job["spec"]["template"]["spec"].update(restartPolicy="Always"),
        ):
            wrong = copy.deepcopy(job)
            change(wrong)
            self.assertNotEqual([], list(of_kubernetes(wrong)))

    def test_gitlab_has_the_form_of_its_jobs(self):
        for name in ("gitlab-ci.yml", "mesa-ci.yml"):
            self.assertEqual([], list(of_gitlab(read(name))), name)
        file = read("gitlab-ci.yml")
        for change in (
            lambda job: job.update(stage="test"),
            lambda job: job.update(paralel=8),
            lambda job: job.update(needs=["nothing"]),
        ):
            wrong = copy.deepcopy(file)
            change(wrong["tangle-fuzz"])
            self.assertNotEqual([], list(of_gitlab(wrong)))

    def test_every_part_is_started_once_and_a_finding_is_no_failure(self):
        spec = read("kubernetes.yaml")["spec"]
        parts = spec["completions"]
        [script] = spec["template"]["spec"]["containers"][0]["args"]
        gitlab = read("gitlab-ci.yml")["tangle-fuzz"]
        self.assertEqual(parts, gitlab["parallel"])
        expected = [f"{part}/{parts}" for part in range(1, parts + 1)]
        of_index = [started(script, 1, JOB_COMPLETION_INDEX=str(index)) for index in range(parts)]
        lines = "\n".join(gitlab["script"])
        of_node = [
            started(lines, 1, CI_NODE_INDEX=str(part), CI_NODE_TOTAL=str(parts), CI_PIPELINE_ID="7")
            for part in range(1, parts + 1)
        ]
        for ran in (of_index, of_node):
            self.assertEqual(expected, [shard(words) for [words], _ in ran])
            self.assertEqual({0}, {code for _, code in ran})
        self.assertNotEqual(0, started(script, 2, JOB_COMPLETION_INDEX="0")[1])
        self.assertNotEqual(0, started(lines, 2, CI_NODE_INDEX="1", CI_NODE_TOTAL="8", CI_PIPELINE_ID="7")[1])

    def test_the_merge_ends_as_tangle_does(self):
        lines = "\n".join(read("gitlab-ci.yml")["tangle-merge"]["script"])
        self.assertEqual((3, 0), (len(started(lines, 0)[0]), started(lines, 0)[1]))

    def test_the_schemas_take_them(self):
        kubernetes, gitlab = (shutil.which(name) for name in ("kubernetes-validate", "check-jsonschema"))
        if kubernetes is None or gitlab is None:
            self.skipTest("kubernetes-validate and check-jsonschema are not installed (PyPI)")
        files = [FARMS / name for name in ("gitlab-ci.yml", "mesa-ci.yml")]
        for command in (
            [kubernetes, "--strict", FARMS / "kubernetes.yaml"],
            [gitlab, "--builtin-schema", "vendor.gitlab-ci", *files],
        ):
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(0, ran.returncode, ran.stdout + ran.stderr)


if __name__ == "__main__":
    unittest.main()
