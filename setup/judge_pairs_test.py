"""Tests that pairs are read out of the tests of an optimiser, that a pair which differs is reported, and that nothing compared is no pass."""

import json
import os
import unittest

import judge_pairs as suite
from suite_testing import SuiteCase

COMPUTE = """OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpDecorate %v DescriptorSet 2
OpDecorate %v Binding 3
"""
FRAGMENT = """OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint Fragment %main "main" %color %depth
OpExecutionMode %main OriginUpperLeft
OpDecorate %color Location 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%float = OpTypeFloat 32
%vec4 = OpTypeVector %float 4
%out = OpTypePointer Output %vec4
%in = OpTypePointer Input %float
%color = OpVariable %out Output
%depth = OpVariable %in Input
%main = OpFunction %void None %fn
%l = OpLabel
OpReturn
OpFunctionEnd
"""

# Tests as an optimiser has them: one written out, one with patterns, one whose text is made while it runs, one of another stage.
TESTS = """
TEST_F(SomePass, WrittenOut) {
  const std::string before = R"(%s)" "; before\\n";
  const char after[] = R"(%s)";
  SetTargetEnv(SPV_ENV_UNIVERSAL_1_4);
  SinglePassRunAndCheck<SomePass>(before, after, true);
}
TEST_F(SomePass, Patterns) { SinglePassRunAndMatch<SomePass>(R"(%s)", true); }
TEST_F(SomePass, Made) { SinglePassRunAndCheck<SomePass>(text(), "", true); }
TEST_F(SomePass, OtherStage) { SinglePassRunAndCheck<SomePass>(R"(%s)", R"(%s; after)", true); }
TEST_F(SomePass, Unknown) { SinglePassRunAndMatch<OtherPass>(R"(%s)", true); }
"""
OPTIMIZER = """
Optimizer::PassToken CreateSomePass() { return MakeUnique<Impl>(MakeUnique<opt::SomePass>()); }
} else if (pass_name == "some-pass") { RegisterPass(CreateSomePass());
"""

# Stands for `tangle judge`: with --against what its environment says of two modules, else the words that the first one leaves.
JUDGE = """import json, os, sys
open(os.environ["CALLS"], "a").write(" ".join(sys.argv[1:]) + "\\n")
print(os.environ["PAIR"] if "--against" in sys.argv else os.environ["ONE"])
"""
ASSEMBLE = """import sys
open(sys.argv[sys.argv.index("-o") + 1], "w").write(open(sys.argv[-3]).read())
"""
OPTIMIZE = """import os, sys
open(sys.argv[sys.argv.index("-o") + 1], "w").write(open(sys.argv[-3]).read() + os.environ["ADDS"])
"""


def pair(compared, difference=None, open_words=0):
    words = {"compared": compared, "open": open_words}
    return json.dumps({"difference": difference, "words": words})


def one(words, undefined=None):
    return json.dumps({"buffers": [{"words": words}], "undefined_behaviour": undefined})


class WholeRuns(SuiteCase):
    def setUp(self):
        super().setUp()
        checkout = self.folder / "checkout"
        (checkout / "test/opt").mkdir(parents=True)
        (checkout / "source/opt").mkdir(parents=True)
        texts = (COMPUTE, COMPUTE + "; after", COMPUTE, FRAGMENT, FRAGMENT, COMPUTE)
        (checkout / "test/opt/some_pass_test.cpp").write_text(TESTS % texts)
        (checkout / "source/opt/optimizer.cpp").write_text(OPTIMIZER)
        names = {"tangle": JUDGE, "spirv-as": ASSEMBLE, "spirv-opt": OPTIMIZE}
        programs = {name: self.program(name, text) for name, text in names.items()}
        self.command = [word for name, path in programs.items() for word in (f"--{name}", path)] + [checkout]
        os.environ |= {"CALLS": str(self.folder / "calls"), "ADDS": "; changed", "ONE": one([7, None])}

    def run_suite(self, said, *options):
        os.environ["PAIR"] = said
        return self.run_script(suite, *options, *self.command)

    def test_same_and_counts(self):
        code, text = self.run_suite(pair(5))
        self.assertEqual(code, 0, text)
        # Four contents each, of three pairs.
        for line in (
            "5 pairs, 2 of compute shaders, 1 of other stages called from one",
            "60 words compared, 20 of the latter",
            "     2 same\n",
            "1 same (called from an entry point for compute)",
            "1 not read: the test makes its text while it runs",
            "1 spirv-opt has no flag for the pass",
        ):
            self.assertIn(line, text)
        calls = (self.folder / "calls").read_text()
        self.assertIn("--target spv1.4", calls)
        self.assertIn("--buffer 2.3=ramp:1024", calls)
        # Those of the interface of the other stage.
        self.assertIn("--buffer 7.0=zeros:4096 --buffer 7.1=zeros:4096", calls)

    def test_a_difference_is_reported(self):
        code, text = self.run_suite(pair(4, "set 2 binding 3, byte 0: 0x1, 0x2"), "--list")
        self.assertEqual(code, 1, text)
        self.assertIn("2 differs: set 2 binding 3, byte 0: 0x1, 0x2\n", text)
        self.assertIn("some_pass_test.cpp: SomePass.WrittenOut (0)", text)

    def test_nothing_compared_is_no_pass(self):
        for said, left, reason in (
            (pair(0, open_words=9), one([None]), "nothing to compare: its words are open"),
            (pair(0), one([], "data race"), "nothing to compare: undefined behaviour in both"),
            (pair(0), one([]), "nothing to compare: no buffer that it could write"),
            (pair(0, "the modules have different buffers"), one([]), "the pass changes the bindings"),
            # Of words that were there before nothing is learnt, whatever is compared.
            (pair(3), one([]), "nothing to compare: all that it writes is open, or what was there before"),
        ):
            os.environ["ONE"] = left
            code, text = self.run_suite(said)
            self.assertEqual(code, 2, text)
            self.assertIn("nothing was compared", text)
            self.assertIn(reason, text)

    def test_a_pass_that_changes_nothing_is_no_pair(self):
        os.environ["ADDS"] = ""
        code, text = self.run_suite(pair(5))
        self.assertEqual((code, "1 the pass changes nothing" in text), (0, True), text)


class Parts(unittest.TestCase):
    def test_values_of_texts(self):
        stream = list(suite.tokens('"a\\n" R"x(b)")x" /* no */ name // no\n + std::string("c")'))
        self.assertEqual(suite.value(stream, {"name": "N"}), 'a\nb)"Nc')
        self.assertIsNone(suite.value(stream, {}))

    def test_size_of_the_workgroup(self):
        self.assertIn('"main"\nOpExecutionMode %main LocalSize 1 1 1\n', suite.sized(COMPUTE))
        given = COMPUTE + "OpExecutionMode %main LocalSize 8 1 1\n"
        self.assertEqual(suite.sized(given), given)

    def test_another_stage_is_called(self):
        text, bindings = suite.as_compute(FRAGMENT, "spv1.3")
        self.assertEqual(bindings, {"%color": 0, "%depth": 1})
        for line in ('OpEntryPoint GLCompute %tg_main "tg_main"', "%color = OpVariable %out Private", "OpStore %tg_c0 %tg_l0", "OpStore %depth %tg_l1"):
            self.assertIn(line, text)
        for gone in ("OriginUpperLeft", "Location", "Fragment", "Output"):
            self.assertNotIn(gone, text)
        kernel = FRAGMENT.replace("Fragment", "Kernel")
        self.assertRaises(suite.CannotWrap, suite.as_compute, kernel, "spv1.3")

    def test_reasons_are_alike(self):
        self.assertEqual(suite.reason("error: /tmp/1/before.spvasm: line 7: %12 is no 'x'"), "before: line N: %N is no '…'")


if __name__ == "__main__":
    unittest.main()
