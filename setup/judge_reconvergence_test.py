"""Tests of the comparison with a simulator, a made-up one: a wrong word is reported, and nothing compared is no pass."""

import os
import shutil
import unittest
from unittest import mock

import judge_reconvergence as suite
from suite_testing import SuiteCase

# As much of the suite's source as the script cuts out of it: every invocation executes one ballot. A seed of 3 writes too much, one of 4 dies.
SIMULATOR = """#include "nothing of this.hpp"
#define ARRAYSIZE(x) 1
static_assert(VK_TRUE == 1, "");
enum TestType { TT_SUCF_ELECT, TT_SUCF_BALLOT, TT_WUCF_ELECT, TT_WUCF_BALLOT, TT_MAXIMAL };
struct CaseDef {
    VkShaderStageFlagBits shaderStage;
    TestType testType;
    uint32_t maxNesting, seed, sizeX, sizeY;
    bool isElect() const { return testType == TT_WUCF_ELECT || testType == TT_SUCF_ELECT; }
};
using Ballots = vector<bool>;
struct Ballot {
    bitset<128> bits;
    bool test(uint32_t at) const { return bits.test(at); }
    operator tcu::UVec4() const { return tcu::UVec4(uint32_t((bits & bitset<128>(0xffffffffu)).to_ulong()), 0, 0, 0); }
};
static Ballot bitsetToBallot(const Ballots &active, uint32_t size, uint32_t id) {
    Ballot ballot;
    for (uint32_t lane = 0; lane < size; ++lane)
        ballot.bits[lane] = id / size * size + lane < active.size() && active[id / size * size + lane];
    return ballot;
}
struct PushConstant { not read };
typedef enum
{
    // store subgroupBallot().
    OP_BALLOT
} OPType;
struct ComputeRandomProgram {
    CaseDef caseDef;
    ComputeRandomProgram(const CaseDef &c) : caseDef(c) {}
    void generateRandomProgram(qpWatchDog *, tcu::TestLog &) {}
    void printCode(stringstream &functions, stringstream &body) { functions << "// functions"; body << "// body"; }
    uint32_t execute(qpWatchDog *, bool counts, uint32_t subgroupSize, int, uint32_t invocationStride, vector<tcu::UVec4> &ref, tcu::TestLog &) {
        struct { bool caseValue; } ops[1] = {{true}};
        int opsIndex = 0;
        const Ballots activeMask(invocationStride, true);
        vector<uint32_t> outLoc(invocationStride, 0);
        if (caseDef.seed == 3) return 20001;
        if (caseDef.seed == 4) exit(9);
        if (ops[opsIndex].caseValue)
            return 0;
        if (counts) return 1;
        for (uint32_t id = 0; id < invocationStride; ++id)
            ref[(outLoc[id]++) * invocationStride + id] = bitsetToBallot(activeMask, subgroupSize, id);
        return 1;
    }
};
class FragmentRandomProgram {};
"""

# Stands for `tangle judge`: the words that the simulator left, and what its environment makes of them.
JUDGE = """import json, os, pathlib, struct, sys
shader = next(pathlib.Path(word) for word in sys.argv if word.endswith("shader.comp"))
raw = (shader.parent / "expected").read_bytes()
words = list(struct.unpack(f"<{len(raw) // 4}I", raw))
plant = os.environ["PLANT"]
if plant == "wrong":
    words[4] ^= 1
if plant == "open":
    words = [None] * len(words)
if plant == "refused":
    print("error: line 12: not supported: %3", file=sys.stderr)
    sys.exit(2)
undefined = "division by zero at line 7" if plant == "undefined" else None
print(json.dumps({"undefined_behaviour": undefined, "buffers": [{"binding": 0, "words": []}, {"binding": 1, "words": words}]}))
"""


@unittest.skipUnless(shutil.which("c++"), "without a C++ compiler")
class WholeRuns(SuiteCase):
    def test_whole_runs(self):
        source = self.folder / suite.SOURCE
        source.parent.mkdir(parents=True)
        source.write_text(SIMULATOR)
        judge = self.program("judge", JUDGE)
        # Compiled once.
        self.enterContext(mock.patch.object(suite, "build", return_value=suite.build(self.folder, self.folder)))
        for plant, seed, code, lines in (
            ("", 0, 0, ["MAXIMAL: 1 programs, 216 words compared, 0 open", "     1 agrees"]),
            # Location 0, invocation 1: the first subgroup's ballot, or that this one is not elected.
            ("wrong", 0, 1, ["     1 differs", "1 words, the first: location 0, invocation 1: 0xe, expected 0xf", "invocation 1: 0x0, expected 0x1"]),
            ("open", 0, 2, ["MAXIMAL: 1 programs, 0 words compared, 216 open", "     1 open", "nothing was compared"]),
            ("undefined", 0, 2, ["     1 undefined behaviour: division by zero at line N", "nothing was compared"]),
            ("refused", 0, 2, ["     1 not run: error: line N: not supported: N", "nothing was compared"]),
            ("", 3, 2, ["     1 too much output", "nothing was compared"]),
            ("", 4, 2, ["     1 the simulator ends with 9", "nothing was compared"]),
        ):
            os.environ["PLANT"] = plant
            options = ["--tangle", judge, "--programs", "1", "--seed", seed, "--keep", self.folder / f"{plant}-{seed}"]
            found, text = self.run_script(suite, *options, self.folder)
            self.assertEqual(found, code, text)
            for line in lines:
                self.assertIn(line, text)
        shader = (self.folder / "-0/MAXIMAL-0/shader.comp").read_text()
        for part in ("maximal_reconvergence : require", "// functions", "[[maximally_reconverges]]\n{\n// body"):
            self.assertIn(part, shader)


class Parts(unittest.TestCase):
    def test_a_source_that_has_changed_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "has changed since"):
            suite.cut(SIMULATOR, "#define ARRAYSIZE", "struct NoSuch")
        with self.assertRaisesRegex(SystemExit, "2 times"):
            suite.replaced("a a", "a", "b")


if __name__ == "__main__":
    unittest.main()
