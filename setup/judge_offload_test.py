"""Tests of the reader of the offload-test-suite's format, of its rules, and that a wrong value is found."""

import json
import os
import struct
import tempfile
import unittest
from unittest import mock

import judge_offload as suite
from suite_testing import SuiteCase

# Two buffers, one float result by ULP, one exact result.
TEST = """#--- source.hlsl
[WaveSize(8)] void main() {}
//--- pipeline.yaml
---
Shaders:
  - Stage: Compute
    Entry: main
DispatchParameters:
  DispatchGroupCount: [2, 1, 1]
Buffers:
  - { Name: In, Format: Hex16, Stride: 2, Data: [ 0x1, 0xFFFF, 010 ] }
  - { Name: Out, Format: Int32, Stride: 4, FillSize: 8, FillValue: -1 }
  - { Name: Want, Format: Int32, Stride: 4, Data: [ 5, -6 ] }
  - { Name: Real, Format: Float32, Channels: 2, FillSize: 8 }
  - { Name: WantReal, Format: Float32, Channels: 2, Data: [ 1.5, nan,, ] }
Results:
  - { Result: A, Rule: BufferExact, Actual: Out, Expected: Want }
  - { Result: B, Rule: BufferFloatULP, ULPT: 2, Actual: Real, Expected: WantReal }
DescriptorSets:
  - Resources:
    - { Name: In, Kind: StructuredBuffer, DirectXBinding: { Register: 0, Space: 0 }, VulkanBinding: { Binding: 0 } }
    - { Name: Out, Kind: RWStructuredBuffer, DirectXBinding: { Register: 1, Space: 0 }, VulkanBinding: { Binding: 1 } }
    - { Name: Real, Kind: RWBuffer, DirectXBinding: { Register: 2, Space: 0 }, VulkanBinding: { Binding: 2 } }
...
#--- end
# XFAIL: Vulkan && !Clang
# RUN: split-file %s %t
# RUN: %dxc_target -T cs_6_5 -Fo %t.o %t/source.hlsl
# RUN: %offloader %t/pipeline.yaml %t.o
"""


def module():
    """A module with bindings 0 and 1 for buffers and an image of a format, R32f with two components, at 2."""
    words = [0x07230203, 0x10600, 0, 20, 0]

    def op(code, *operands):
        words.extend([(len(operands) + 1) << 16 | code, *operands])

    op(17, 61)  # GroupNonUniform
    for variable, binding in ((10, 0), (11, 1), (12, 2)):
        op(71, variable, 34, 0)
        op(71, variable, 33, binding)
    op(30, 2)
    op(25, 3, 1, 5, 2, 0, 0, 2, 6)
    for pointer, to, variable in ((4, 2, 10), (4, 2, 11), (5, 3, 12)):
        op(32, pointer, 12, to)
        op(59, pointer, variable, 12)
    return struct.pack(f"<{len(words)}I", *words)


# Stands for `tangle judge`: says what its environment says, and counts its calls.
JUDGE = """import os, sys
open(os.environ["CALLS"], "a").write(" ".join(sys.argv[1:]) + "\\n")
equal = "--equal-stores" in sys.argv
print(os.environ["EQUAL"] if equal and "EQUAL" in os.environ else os.environ["ANSWER"])
"""
COMPILE = """import os, sys
open(sys.argv[sys.argv.index("-Fo") + 1], "wb").write(open(os.environ["MODULE"], "rb").read())
"""


def float_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def answer(out=(5, 0xFFFFFFFA), real=(float_bits(1.5), float_bits(float("nan"))), undefined=None):
    buffers = [{"set": 0, "binding": binding, "element": 0, "words": list(words)} for binding, words in ((1, out), (2, real))]
    return json.dumps({"undefined_behaviour": undefined, "reasons": ["uninitialised"], "buffers": buffers})


@unittest.skipIf(suite.yaml is None, "without PyYAML")
class WholeRuns(SuiteCase):
    def setUp(self):
        super().setUp()
        (self.folder / "test").mkdir()
        (self.folder / "test/a.test").write_text(TEST)
        (self.folder / "module").write_bytes(module())
        programs = ["--tangle", self.program("judge", JUDGE), "--dxc", self.program("dxc", COMPILE)]
        self.command = [*programs, "--compilers", "dxc"]
        os.environ |= {"CALLS": str(self.folder / "calls"), "MODULE": str(self.folder / "module"), "TANGLE_CACHE": str(self.folder)}

    def run_suite(self, said, *options, equal=None):
        os.environ["ANSWER"] = said
        os.environ.pop("EQUAL", None)
        if equal:
            os.environ["EQUAL"] = equal
        return self.run_script(suite, *self.command, *options, self.folder)

    def test_agrees_and_inputs(self):
        code, text = self.run_suite(answer())
        self.assertEqual((code, "agrees" in text), (0, True), text)
        call = (self.folder / "calls").read_text()
        for part in ("--subgroup-size 8 --workgroups 2,1,1", "--buffer 0.0=", "--image 0.2=1 --buffer 0.2="):
            self.assertIn(part, call)

    def test_any_wrong_value_disagrees(self):
        near, far = float_bits(1.5) + 2, float_bits(1.5) + 3
        self.assertEqual(self.run_suite(answer(real=(near, float_bits(float("nan")))))[0], 0)
        for wrong in (answer(out=(5, 6)), answer(out=(4, 0xFFFFFFFA)), answer(real=(far, 0x7FC00000)), answer(real=(float_bits(1.5), 0))):
            code, text = self.run_suite(wrong)
            self.assertEqual(code, 1, text)
            self.assertIn("a.test [XFAIL: Vulkan && !Clang]: 1 of 4 values", text)

    def test_planted_values_never_agree(self):
        code, text = self.run_suite(answer(), "--plant")
        self.assertEqual((code, "4 of 4 values" in text), (0, True), text)

    def test_open_values_are_counted(self):
        code, text = self.run_suite(answer(out=(5, None)))
        self.assertEqual((code, "1 open: 1 of 4 values: uninitialised" in text), (0, True), text)

    def test_undefined_behaviour_and_equal_stores(self):
        race = answer(undefined="data race: two accesses")
        self.assertIn("1 undefined: data race", self.run_suite(race)[1])
        self.assertIn("1 equal stores", self.run_suite(race, equal=answer())[1])
        self.assertIn("1 undefined: data race", self.run_suite(race, "--strict", equal=answer())[1])
        code, text = self.run_suite(race, equal=answer(out=(5, 6)))
        self.assertEqual((code, "[with --equal-stores]" in text), (1, True), text)


    def test_module_without_what_glslang_lacks_is_refused(self):
        program = """import os, sys
open(sys.argv[sys.argv.index("-o") + 1], "wb").write(open(os.environ["MODULE"], "rb").read())
print("Missing functionality: matrix swizzle")
"""
        self.command += ["--glslang", self.program("glslang", program), "--compilers", "glslang"]
        code, text = self.run_suite(answer(out=(5, 6)))
        self.assertEqual((code, "1 refused: Missing functionality: matrix swizzle" in text), (0, True), text)


class Parts(unittest.TestCase):
    def test_options_of_compilers(self):
        def command(name, arguments, text=""):
            with tempfile.NamedTemporaryFile("w", suffix=".hlsl") as source:
                source.write(text)
                source.flush()
                return suite.Compiler(name, [name], "").command(source.name, "out", arguments)

        self.assertIn("-HV 2021", " ".join(command("dxc", ["-T", "cs_6_5"])))
        self.assertNotIn("2021", command("dxc", ["-HV", "202x"]))
        self.assertIn("--auto-map-bindings", command("glslang", []))
        layout = ["-fvk-use-dx-layout"]
        self.assertIn(*layout, command("slang", layout, "cbuffer A { int a; }"))
        pushed = command("slang", layout, "[[vk::push_constant]] S s;")
        self.assertEqual((layout[0] in pushed, "-fvk-use-scalar-layout" in pushed), (False, True), pushed)

    def test_run_lines(self):
        parts = suite.split_file(TEST)
        self.assertEqual(suite.jobs(parts), [("source.hlsl", ["-T", "cs_6_5"], "pipeline.yaml")])
        more = suite.split_file(TEST.replace("%offloader", "not %offloader"))
        self.assertEqual(suite.jobs(more), [])
        long = TEST.replace("-T cs_6_5 ", "%if Vulkan %{ -fvk-use-dx-layout %} \\\n# RUN: -T cs_6_5 ")
        self.assertEqual(suite.jobs(suite.split_file(long))[0][1], ["-fvk-use-dx-layout", "-T", "cs_6_5"])

    def test_places_of_resources_without_a_register(self):
        shader = "RWBuffer<int> In;\nRWStructuredBuffer<float> Out;\nRWStructuredBuffer<float> More[2] : register(u9);"
        places, names = {"In": (0, 0), "Out": (0, 1), "More": (0, 9)}, {"In": (0, 0), "Out": (0, 3), "More": (0, 4)}
        self.assertEqual(suite.moved(places, names, shader), {"In": (0, 0), "Out": (0, 3), "More": (0, 9)})
        # With the attribute all stay, as do two that would meet.
        self.assertEqual(suite.moved(places, names, "[[vk::binding(1)]] " + shader), places)
        self.assertEqual(suite.moved(places, names | {"Out": (0, 9)}, shader), places)

    def test_conditions(self):
        features = {"Vulkan", "DXC"}
        for text, want in [("Vulkan", True), ("!Vulkan", False), ("Clang && Vulkan", False), ("(Clang || DXC) && !NV", True), ("&&", False)]:
            self.assertEqual(suite.holds(text, features), want, text)

    def test_numbers(self):
        for text, code, want in [("010", "I", 8), ("-0x10", "i", -16), ("true", "I", 1), (".inf", "f", float("inf")), ("0x1p-1", "f", 0.5)]:
            self.assertEqual(suite.number(text, code), want)
        self.assertEqual(suite.packed([1e39], "f"), struct.pack("<f", float("inf")))

    @unittest.skipIf(suite.yaml is None, "without PyYAML")
    def test_buffers(self):
        buffers = suite.Pipeline(suite.split_file(TEST)["pipeline.yaml"]).buffers
        self.assertEqual(buffers["In"].data, [b"\x01\x00\xff\xff\x08\x00"])
        self.assertEqual(buffers["Out"].data, [b"\xff" * 8])

    def test_printed_values(self):
        text = "# CHECK: Name: B\n# CHECK-NEXT: Data: [ 1, 0x2,\n# CHECK: 3 ]\n# CHECK: Data: [ {{.*}} ]\n# CHECK: Name: A\n# CHECK: Data: [ -1"
        found = suite.checked(text, ["A", "B"])
        self.assertEqual(found, {"B": (["1", "0x2", "3"], True), "A": (["-1"], False)})

    def test_sizes_together(self):
        self.assertEqual(suite.together({4: ("agrees", ""), 8: ("agrees", "")}), ("agrees", ""))
        self.assertEqual(suite.together({4: ("disagrees", "x"), 8: ("agrees", "")}), ("by size", "disagrees with 4, agrees with 8: x"))

    def test_halves(self):
        buffer = mock.Mock(width=2)
        rule = {"Rule": "BufferFloatULP", "ULPT": "1"}
        for a, b, same in [(0x3C00, 0x3C01, True), (0x3C00, 0x3C02, False), (0x8000, 0x0000, True), (0x7E00, 0x7D00, True), (0x7E00, 0x3C00, False)]:
            self.assertEqual(suite.same_float(struct.pack("<H", a), struct.pack("<H", b), buffer, rule), same)


if __name__ == "__main__":
    unittest.main()
