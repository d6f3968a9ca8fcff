"""Tests that the script of foreign suites counts what `tangle judge` says, and that a wrong expectation and an empty run are no pass."""

import json
import unittest

import judge_suite as suite
from suite_testing import SuiteCase

# Stands for `tangle judge`: the file holds what it says, its exit code, and an error.
JUDGE = """import json, sys
code, answer, error = json.loads(open(sys.argv[-1]).read().split("#", 1)[1])
print(json.dumps(answer))
print(error, file=sys.stderr)
sys.exit(code)
"""


def expectations(holds, fails, open_ones):
    lines = ["line 9: not determined: uninitialised variable"] * open_ones
    return {"holds": holds, "fails": fails, "open": open_ones, "expectations": lines}


class Counts(SuiteCase):
    def setUp(self):
        super().setUp()
        self.judge = self.program("judge", JUDGE)

    def script(self, name, code, answer, error="", head="PIPELINE compute p\n"):
        path = self.folder / "suite" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{head}#{json.dumps([code, answer, error])}")

    def run_suite(self, *options):
        return self.run_script(suite, "--tangle", self.judge, *options, self.folder / "suite")

    def test_counts(self):
        self.script("a.amber", 0, expectations(3, 0, 0))
        self.script("b.amber", 0, expectations(1, 0, 2))
        self.script("c.amber", 2, {}, "error: c.amber: line 7: undefined behaviour: a data race at %12")
        self.script("d.amber", 2, {}, "error: d.amber: line 3: 'x1' is no format")
        self.script("e.amber", 0, expectations(0, 0, 0))
        self.script("f.spvasm", 0, {"undefined_behaviour": None}, head='OpEntryPoint GLCompute %m "m"\n')
        self.script("vertex.amber", 1, expectations(0, 9, 0), head="PIPELINE graphics p\n")
        code, text = self.run_suite("--list")
        self.assertEqual(code, 0, text)
        for line in (
            "6 compute files: 2 executed, 1 holds, 1 open, 1 undefined behaviour, 1 not run",
            "EXPECTs: 4 hold, 0 contradicted, 2 open",
            "1 open: uninitialised variable",
            "1 undefined behaviour: undefined behaviour: a data race at",
            "1 not run: '…' is no format",
        ):
            self.assertIn(line, text)
        self.assertNotIn("vertex", text)

    def test_a_contradicted_expectation_is_reported(self):
        self.script("right.amber", 0, expectations(3, 0, 0))
        self.script("wrong.amber", 1, expectations(2, 1, 0))
        code, text = self.run_suite()
        self.assertEqual(code, 1, text)
        self.assertIn("EXPECTs: 5 hold, 1 contradicted, 0 open", text)
        self.assertIn("wrong.amber", text)
        self.assertNotIn("right.amber", text)

    def test_nothing_compared_is_no_pass(self):
        self.script("a.amber", 0, expectations(0, 0, 0))
        self.script("b.amber", 0, expectations(0, 0, 4))
        self.script("c.amber", 2, {}, "error: no device")
        code, text = self.run_suite()
        self.assertEqual(code, 2, text)
        self.assertIn("nothing was compared", text)
        self.script("d.amber", 0, expectations(1, 0, 0))
        self.assertEqual(self.run_suite()[0], 0)
        # Nor is a folder without scripts.
        code, _ = self.run_suite("--only", "no such name")
        self.assertIn("no compute AmberScript", code)

    def test_a_judge_that_dies_is_counted(self):
        self.script("a.amber", 101, {}, "panicked at lib.rs:12")
        self.assertIn("1 not run: panicked at lib.rs:N", self.run_suite()[1])


if __name__ == "__main__":
    unittest.main()
