"""deny.toml's licences and duplicates, for machines without cargo-deny."""

import collections
import json
import re
import subprocess
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Unmaintained, or with an advisory that no version mends.
GONE = {"paste", "atomic-polyfill"}


def licences(expression):
    """The licences that may be chosen from, for each part of an SPDX expression that has to be met."""
    for part in expression.split(" AND "):
        yield {name.strip(" ()") for name in re.split(r" OR |/", part)}


class Dependencies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.deny = tomllib.loads((ROOT / "deny.toml").read_text())
        command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline", "--all-features"]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise unittest.SkipTest("not all dependencies are here: " + ran.stderr.strip().splitlines()[-1])
        cls.packages = [package for package in json.loads(ran.stdout)["packages"] if package["source"]]

    def test_every_licence_is_allowed_and_every_allowed_one_is_needed(self):
        allowed = set(self.deny["licenses"]["allow"])
        needed = set()
        for package in self.packages:
            for choice in licences(package["license"] or ""):
                self.assertTrue(choice & allowed, f"{package['name']}: {package['license']}")
                needed |= choice & allowed if len(choice & allowed) == 1 else set()
        self.assertLessEqual(allowed - needed, {"MIT", "Apache-2.0"})

    def test_only_listed_crates_are_there_twice(self):
        versions = collections.defaultdict(set)
        for package in self.packages:
            versions[package["name"]].add(package["version"])
        twice = {name for name, found in versions.items() if len(found) > 1}
        self.assertEqual(twice, {entry["crate"].split("@")[0] for entry in self.deny["bans"]["skip"]})

    def test_everything_is_from_the_registry(self):
        self.assertEqual({package["source"].split("+")[0] for package in self.packages}, {"registry"})

    def test_what_was_given_up_does_not_come_back(self):
        self.assertFalse(GONE & {package["name"] for package in self.packages})


class Expressions(unittest.TestCase):
    def test_choices_and_what_has_to_be_met(self):
        for text, choices in [
            ("MIT/Apache-2.0", [{"MIT", "Apache-2.0"}]),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", [{"MIT", "Apache-2.0"}, {"Unicode-3.0"}]),
            ("GPL-3.0", [{"GPL-3.0"}]),
        ]:
            self.assertEqual(list(licences(text)), choices)


if __name__ == "__main__":
    unittest.main()
