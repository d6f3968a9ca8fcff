#!/usr/bin/env python3
"""Runs programs of the Khronos suite's random reconvergence tests through `tangle judge`, and compares with their own simulator.

    setup/judge_reconvergence.py [--tangle PROGRAM] [--programs N] [--seed N] [--keep DIR] VK-GL-CTS

VK-GL-CTS is a checkout of KhronosGroup/VK-GL-CTS. The generator of compute shaders and the simulator are cut out of its
vktReconvergenceTests.cpp and compiled here (a C++ compiler is needed); nothing of them is copied into this repository.

The simulator executes with maximal reconvergence, which is one of the executions that the weaker kinds allow. So whatever the
interpreter determines has to be the simulator's, of each kind. Prints for each how many programs agree, how many are open, and how
many words were compared. Exit code: 1 if a word that the interpreter determines is not the simulator's, 2 if none was compared.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

SOURCE = "external/vulkancts/modules/vulkan/reconvergence/vktReconvergenceTests.cpp"
KINDS = ["SUCF_ELECT", "SUCF_BALLOT", "WUCF_ELECT", "WUCF_BALLOT", "MAXIMAL"]
# Subgroup size and invocations. Whole subgroups of every size, as the suite's generator of uniform control flow wants them, and others.
SIZES = [(4, 128), (8, 128), (16, 128), (32, 128), (64, 256), (128, 128)]
PARTIAL_SIZES = [(4, 27), (8, 64), (16, 72), (32, 96), (32, 75), (64, 100), (128, 128)]
# A program that takes longer is counted as such.
TIMEOUT = 120

# What the cut-out needs of the suite's framework.
BEFORE = r"""
#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>
#define DE_ASSERT(x) do { if (!(x)) { std::fprintf(stderr, "assertion: %s\n", #x); std::abort(); } } while (0)
#define DE_UNREF(x) ((void)(x))
#define DE_UNUSED_FUNCTION [[maybe_unused]]
enum VkShaderStageFlagBits { VK_SHADER_STAGE_COMPUTE_BIT = 0x20 };
struct qpWatchDog {};
static void qpWatchDog_touch(qpWatchDog *) {}
namespace de { template <class T> T max(T a, T b) { return a > b ? a : b; } }
namespace tcu {
struct TestLog {};
struct UVec4 {
    uint32_t v[4];
    UVec4() : v{0, 0, 0, 0} {}
    explicit UVec4(uint32_t s) : v{s, s, s, s} {}
    UVec4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) : v{x, y, z, w} {}
    uint32_t &operator[](int i) { return v[i]; }
    uint32_t operator[](int i) const { return v[i]; }
    uint32_t x() const { return v[0]; }
    uint32_t y() const { return v[1]; }
    uint32_t z() const { return v[2]; }
    uint32_t w() const { return v[3]; }
};
}
// The suite's generator of random numbers: xorshift128, seeded as there.
struct deRandom { uint32_t x, y, z, w; };
static void deRandom_init(deRandom *r, uint32_t seed) {
    *r = {uint32_t(-(int)seed ^ 123456789), 362436069u * seed, 521288629u ^ (seed >> 7), 88675123u ^ (seed << 3)};
}
static uint32_t deRandom_getUint32(deRandom *r) {
    uint32_t w = r->w, t = r->x ^ (r->x << 11);
    r->x = r->y; r->y = r->z; r->z = w;
    return r->w = (w ^ (w >> 19)) ^ (t ^ (t >> 8));
}
[[maybe_unused]] static uint64_t deRandom_getUint64(deRandom *r) {
    uint64_t x = deRandom_getUint32(r);
    return x << 32 | deRandom_getUint32(r);
}
using namespace std;
"""

# What an invocation logs at a ballot.
BALLOT = "ref[(outLoc[id]++) * invocationStride + id] = bitsetToBallot(activeMask, subgroupSize, id);"
RESULT = r"""
static tcu::UVec4 result(const Ballots &active, uint32_t size, uint32_t id, bool elect) {
    const Ballot ballot = bitsetToBallot(active, size, id);
    if (!elect) return ballot;
    uint32_t lane = id % size, lowest = 0;
    while (!ballot.test(lowest)) ++lowest;
    return tcu::UVec4(lane == lowest ? 2 : 1, 0, 0, 0);
}
"""

# Prints a program's two parts and the simulator's buffer: KIND NESTING SEED INVOCATIONS SUBGROUP_SIZE FOLDER.
AFTER = r"""
int main(int, char **argv) {
    CaseDef def{};
    def.shaderStage = VK_SHADER_STAGE_COMPUTE_BIT;
    def.testType = TestType(atoi(argv[1]));
    def.maxNesting = atoi(argv[2]);
    def.seed = atoi(argv[3]);
    def.sizeX = atoi(argv[4]);
    def.sizeY = 1;
    const uint32_t size = atoi(argv[5]);
    const string folder = argv[6];
    ComputeRandomProgram program(def);
    tcu::TestLog log;
    program.generateRandomProgram(nullptr, log);
    stringstream functions, body;
    program.printCode(functions, body);
    vector<tcu::UVec4> ref;
    const uint32_t locations = program.execute(nullptr, true, size, 0, def.sizeX, ref, log);
    if (locations > 20000) return 3;
    ref.resize((locations + 1) * def.sizeX);
    program.execute(nullptr, false, size, 0, def.sizeX, ref, log);
    ofstream(folder + "/functions") << functions.str();
    ofstream(folder + "/body") << body.str();
    ofstream(folder + "/expected", ios::binary).write((const char *)ref.data(), ref.size() * 16);
}
"""

# The shader around the two parts, as `initPrograms` of the suite writes it for compute.
SHADER = """#version 450 core
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_vote : enable
#extension GL_EXT_subgroup_uniform_control_flow : enable
{extension}
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z = 1) in;
layout(set=0, binding=2) coherent buffer OutputC {{ uint loc[]; }} outputC;
layout(set=0, binding=1) coherent buffer OutputB {{ uvec4 b[]; }} outputB;
layout(set=0, binding=0) coherent buffer InputA  {{ uint  a[]; }} inputA;
layout(push_constant) uniform PC {{ int invocationStride; }};
int outLoc = 0;
bool testBit(uvec4 mask, uint bit) {{ return ((mask[bit / 32] >> (bit % 32)) & 1) != 0; }}
uint elect() {{ return int(subgroupElect()) + 1; }}
{functions}
void main()
{attribute}
{{
{body}
}}
"""


def cut(text, begin, end):
    """The text from the first line that begins with BEGIN to before the next that begins with END."""
    start = re.search("^" + re.escape(begin), text, re.MULTILINE)
    stop = start and re.compile("^" + re.escape(end), re.MULTILINE).search(text, start.end())
    if not stop:
        sys.exit(f"this checkout's {SOURCE} has no '{begin}' before '{end}': it has changed since this script was written")
    return text[start.start() : stop.start()]


def replaced(text, old, new):
    if text.count(old) != 1:
        sys.exit(f"this checkout's {SOURCE} has '{old}' {text.count(old)} times: it has changed since this script was written")
    return text.replace(old, new)


def build(checkout, folder):
    """The program that generates and simulates."""
    text = (checkout / SOURCE).read_text()
    head = cut(text, "#define ARRAYSIZE", "struct PushConstant")
    programs = cut(text, "typedef enum\n{\n    // store subgroupBallot()", "class FragmentRandomProgram")
    head = replaced(head, "static_assert(VK_TRUE == 1", "static_assert(true")
    # Every ballot as maximal reconvergence has it, and not only those that the suite itself compares; of `subgroupElect` its result.
    programs = replaced(programs, "if (ops[opsIndex].caseValue)", "if (false)")
    programs = replaced(programs, BALLOT, f"{BALLOT[:-2]}, caseDef.isElect());".replace("= bitsetToBallot", "= result"))
    pieces = [head, RESULT, programs]
    source = folder / "generate.cpp"
    source.write_text(BEFORE + "\n".join(pieces) + AFTER)
    program = folder / "generate"
    subprocess.run(["c++", "-std=c++17", "-O1", "-w", "-o", program, source], check=True)
    return program


def run_one(args, generate, kind, seed, folder):
    """(what became of it, words compared, words open, details)"""
    sizes = PARTIAL_SIZES if kind == "MAXIMAL" else SIZES
    size, invocations = sizes[seed % len(sizes)]
    nesting = 2 + seed % 6
    folder.mkdir(parents=True)
    try:
        made = subprocess.run(
            [generate, str(KINDS.index(kind)), str(nesting), str(seed), str(invocations), str(size), folder], timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return "the simulator takes too long", 0, 0, ""
    if made.returncode:
        return "too much output" if made.returncode == 3 else f"the simulator ends with {made.returncode}", 0, 0, ""
    maximal = kind == "MAXIMAL"
    shader = folder / "shader.comp"
    shader.write_text(
        SHADER.format(
            extension="#extension GL_EXT_maximal_reconvergence : require" if maximal else "",
            attribute="[[maximally_reconverges]]" if maximal else "[[subgroup_uniform_control_flow]]" if "SUCF" in kind else "",
            functions=(folder / "functions").read_text(),
            body=(folder / "body").read_text(),
        )
    )
    raw = (folder / "expected").read_bytes()
    (folder / "push").write_bytes(struct.pack("<i", invocations))
    command = [args.tangle, "judge", "--json", shader, "--subgroup-size", str(size), "--spec", f"0={invocations}", "--spec", "1=1"]
    command += ["--push", folder / "push", "--buffer", f"0.0=ramp:{invocations}"]
    command += ["--buffer", f"0.1=zeros:{len(raw)}", "--buffer", f"0.2=zeros:{4 * invocations}"]
    (folder / "command").write_text(" ".join(map(str, command)) + "\n")
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return "the interpreter takes too long", 0, 0, ""
    if run.returncode not in (0, 1):
        return "not run: " + re.sub(r"[\d%]+", "N", (run.stderr.strip().splitlines() or ["?"])[-1])[:100], 0, 0, ""
    answer = json.loads(run.stdout)
    if answer["undefined_behaviour"]:
        return "undefined behaviour: " + re.sub(r"\d+", "N", answer["undefined_behaviour"])[:100], 0, 0, ""
    words = next(buffer["words"] for buffer in answer["buffers"] if buffer["binding"] == 1)
    expected = struct.unpack(f"<{len(raw) // 4}I", raw)
    compared = open_words = 0
    wrong = []
    for location in range(len(raw) // 16 // invocations):
        for lane in range(invocations):
            at = 4 * (location * invocations + lane)
            want = expected[at : at + 4]
            for found, right in zip(words[at : at + 4], want):
                if found is None:
                    open_words += 1
                else:
                    compared += 1
                    if found != right:
                        wrong.append(f"location {location}, invocation {lane}: {found:#x}, expected {right:#x}")
    if wrong:
        return "differs", compared, open_words, f"{folder}: {len(wrong)} words, the first: {wrong[0]}"
    return "agrees" if compared else "open", compared, open_words, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path, metavar="VK-GL-CTS")
    parser.add_argument("--tangle", default="target/release/tangle", metavar="PROGRAM")
    parser.add_argument("--programs", type=int, default=400, metavar="N", help="of each of the five kinds (default: 400)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the first one's (default: 0)")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep shaders and expected buffers there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        generate = build(args.checkout, folder)
        jobs = [(kind, args.seed + n) for kind in KINDS for n in range(args.programs)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            rows = list(pool.map(lambda job: run_one(args, generate, *job, folder / f"{job[0]}-{job[1]}"), jobs))
    for kind in KINDS:
        mine = [row for job, row in zip(jobs, rows) if job[0] == kind]
        print(f"{kind}: {len(mine)} programs, {sum(r[1] for r in mine)} words compared, {sum(r[2] for r in mine)} open")
        for what, count in collections.Counter(row[0] for row in mine).most_common():
            print(f"{count:6} {what}")
        for row in mine:
            if row[3]:
                print(f"       {row[3]}")
    differs = any(row[0] == "differs" for row in rows)
    words = sum(row[1] for row in rows)
    if not words:
        print("nothing was compared")
    sys.exit(1 if differs else 0 if words else 2)


if __name__ == "__main__":
    main()
