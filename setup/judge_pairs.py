#!/usr/bin/env python3
"""Compares the modules before and after a pass, as the tests of SPIRV-Tools' optimiser have them, by `tangle judge --against`.

    setup/judge_pairs.py [--tangle PROGRAM] [--spirv-opt PROGRAM] [--list] SPIRV-Tools

SPIRV-Tools is a checkout of KhronosGroup/SPIRV-Tools. The pairs are read out of its test/opt/*.cpp: the texts that are given to
`SinglePassRunAndCheck`, and of `SinglePassRunAndMatch`, which has patterns instead of a second text, the first and what spirv-opt makes of it
with the same pass. A pass keeps what a module means, so whatever the interpreter determines
in both has to be the same. Each pair runs with four contents of its buffers. Nothing of the tests is copied.

A module of another stage is called from an entry point for compute that is added (`as_compute`). A pair counts as the same only if a word that is
compared was not there before.

Prints how many pairs mean the same, how many differ, and each reason why others were not compared, with --list the tests of each
row. Exit code: 1 if a pair differs, 2 if no word was compared.
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

# A pair that takes longer is counted as such.
TIMEOUT = 60

# What every buffer holds. Undefined behaviour with one is none with another.
CONTENTS = ["zeros:4096", "ramp:1024", "random:1:4096", "floats"]

# Floats of which sums and products are exact.
FLOATS = struct.pack("<1024f", *(1 + at % 61 / 4 for at in range(1024)))

# SPV_ENV_… as `--target` has it. The tests' own default is SPIR-V 1.3.
TARGETS = {f"SPV_ENV_UNIVERSAL_1_{n}": f"spv1.{n}" for n in range(7)} | {f"SPV_ENV_VULKAN_1_{n}": f"vulkan1.{n}" for n in range(4)}

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      | R"(?P<end>[^()\s]*)\((?P<raw>.*?)\)(?P=end)"
      | "(?P<text>(?:[^"\\]|\\.)*)"
      | (?P<name>[A-Za-z_][\w:]*)
      | (?P<sign>.)""",
    re.DOTALL | re.VERBOSE,
)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def tokens(text):
    for match in TOKEN.finditer(text):
        if match["raw"] is not None:
            yield "text", match["raw"]
        elif match["text"] is not None:
            yield "text", re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), match["text"])
        elif match["name"]:
            yield "name", match["name"]
        elif match["sign"]:
            yield "sign", match["sign"]


def value(expression, names):
    """The text of a sum of literals and names; None if it is something else."""
    result = ""
    for kind, word in expression:
        if kind == "text":
            result += word
        elif kind == "name" and word in names:
            result += names[word]
        elif not (kind, word) == ("sign", "+") and word not in ("std::string", "std::string_view"):
            if word in "(){}":
                continue
            return None
    return result


def until(stream, at, ends):
    """The tokens from there to one of these signs outside of all brackets, and where it stands."""
    depth, start = 0, at
    while at < len(stream):
        kind, word = stream[at]
        if kind == "sign" and depth == 0 and word in ends:
            break
        if kind == "sign":
            depth += (word in "([{") - (word in ")]}")
        at += 1
    return stream[start:at], at


def arguments(stream, at):
    """Those of a call whose bracket stands there."""
    result = []
    while True:
        argument, at = until(stream, at + 1, ",)")
        result.append(argument)
        if at >= len(stream) or stream[at][1] == ")":
            return result


def flags(checkout):
    """The flag of spirv-opt for the class of a pass, as the checkout's optimizer.cpp says."""
    text = (checkout / "source/opt/optimizer.cpp").read_text()
    made = dict(re.findall(r"PassToken (Create\w+)\([^{]*\)\s*\{[^}]*?MakeUnique<opt::(\w+)>", text))
    named = re.findall(r'pass_name == "([\w-]+)"\) \{\s*RegisterPass\(\s*(Create\w+)\(', text)
    return {made[create]: name for name, create in reversed(named) if create in made}


def pairs(path):
    """(test, target, pass, before, after) of every call that checks a pass. A text is None if it is not written out; after is "" if there
    are patterns instead."""
    stream = list(tokens(path.read_text(errors="replace")))
    names, local = {}, {}
    test, target = "", "spv1.3"
    at = 0
    while at < len(stream):
        kind, word = stream[at]
        if kind == "name" and word in ("TEST_F", "TEST_P", "TEST"):
            test = ".".join(w for part in arguments(stream, at + 1) for _, w in part)
            local, target = dict(names), "spv1.3"
        elif kind == "name" and word == "SetTargetEnv":
            target = TARGETS.get(arguments(stream, at + 1)[0][0][1], target)
        elif kind == "name" and word in ("SinglePassRunAndCheck", "SinglePassRunAndMatch"):
            which = ""
            while stream[at][1] != "(":
                which = stream[at][1] if stream[at][0] == "name" else which
                at += 1
            given = arguments(stream, at)
            after = value(given[1], local) if word == "SinglePassRunAndCheck" else ""
            yield test, target, which.split("::")[-1], value(given[0], local), after
        elif kind == "name" and at + 1 < len(stream):
            # NAME = …;  NAME(…);  NAME{…};  NAME[] = …;
            begin = at + 3 if [w for _, w in stream[at + 1 : at + 3]] == ["[", "]"] else at + 1
            sign = stream[begin][1] if begin < len(stream) else ""
            is_declared = at > 0 and stream[at - 1][1] in ("std::string", "char", "auto", "*", "&")
            if sign in ("=", "(", "{") and is_declared:
                text, _ = until(stream, begin + (sign == "="), ";")
                if (text := value(text, local)) is not None:
                    local[word] = text
                    if not test:
                        names[word] = text
        at += 1


def sized(text):
    """With a size of the workgroup, where a module for compute has none: one invocation."""
    entry = re.search(r"^\s*OpEntryPoint\s+GLCompute\s+(%\w+).*\n(?:\s*OpEntryPoint.*\n)*", text, re.MULTILINE)
    if not entry or re.search(r"\bLocalSize(Id)?\b|BuiltIn WorkgroupSize", text):
        return text
    return f"{text[: entry.end()]}OpExecutionMode {entry[1]} LocalSize 1 1 1\n{text[entry.end() :]}"


# Decorations and execution modes that only the interface of another stage has.
OF_A_STAGE = "Location|Component|Index|BuiltIn|Flat|NoPerspective|Centroid|Sample|Patch|Invariant|PerVertexKHR"


class CannotWrap(Exception):
    """Why a module of another stage is not made one for compute."""


def as_compute(text, target, known=None):
    """The code of a module of another stage, called by an entry point for compute; and the bindings of what it reads and writes.

    Variables of the interface become private ones. Before the call the inputs get values out of buffers, behind it the outputs go into buffers: those
    of numbers of 32 bits, their vectors and matrices. What the stage promises besides, interpolation or the position, is not looked at."""
    text = re.sub(r";[^\n]*", "", text)
    entries = re.findall(r"^\s*OpEntryPoint\s+(\w+)\s+(%\w+)\s+\"[^\"]*\"(.*)$", text, re.MULTILINE)
    if len(entries) != 1:
        raise CannotWrap(f"{'several' if entries else 'no'} entry points")
    stage, main, interface = entries[0]
    if stage == "Kernel" or re.search(r"OpCapability\s+(Kernel|Addresses|Linkage)\b", text):
        raise CannotWrap("a kernel, or a library")
    types = {m[1]: m[2].split() for m in re.finditer(r"^\s*(%\w+)\s*=\s*(OpType.*)$", text, re.MULTILINE)}

    def is_number(name):
        return types.get(name, [""])[:2] in (["OpTypeInt", "32"], ["OpTypeFloat", "32"])

    def is_simple(name):
        kind = types.get(name, [""])
        return is_number(name) or kind[0] in ("OpTypeVector", "OpTypeMatrix") and is_simple(kind[1])

    variables = re.findall(r"^\s*(%\w+)\s*=\s*OpVariable\s+(%\w+)\s+(Input|Output)\b", text, re.MULTILINE)
    pointees = {name: types[pointer][2] for name, pointer, _ in variables if pointer in types}
    moved = [(name, way) for name, _, way in variables if name in pointees and is_simple(pointees[name])]
    bindings = known if known is not None else {name: at for at, (name, _) in enumerate(moved)}
    moved = [(name, way) for name, way in moved if name in bindings]
    names = "|".join(re.escape(name) for name, *_ in variables) or "%-"
    lines = []
    for line in text.splitlines():
        if re.match(rf"\s*OpDecorate\s+({names})\s+({OF_A_STAGE})\b", line) or re.match(r"\s*OpMemberDecorate\s+%\w+\s+\d+\s+BuiltIn\b", line):
            continue
        if re.match(rf"\s*OpExecutionMode(Id)?\s+{re.escape(main)}\s", line) or re.match(r"\s*OpEntryPoint\s", line):
            continue
        lines.append(re.sub(r"(OpTypePointer|OpVariable\s+%\w+)\s+(Input|Output)\b", r"\1 Private", line))
    annotations, declarations, code = [], [], []
    void = next((name for name, kind in types.items() if kind == ["OpTypeVoid"]), None)
    function = next((name for name, kind in types.items() if kind == ["OpTypeFunction", void]), None)
    if not void or not function:
        raise CannotWrap("no function without parameters")
    number = next((name for name, kind in types.items() if kind[:2] == ["OpTypeInt", "32"]), None)
    if not number:
        number = "%tg_uint"
        declarations.append("%tg_uint = OpTypeInt 32 0")
    declarations.append(f"%tg_0 = OpConstant {number} 0")
    buffers, kept = {"Input": [], "Output": []}, []
    for name, way in moved:
        kind, at = pointees[name], bindings[name]
        annotations += [f"OpDecorate %tg_b{at} Block", f"OpMemberDecorate %tg_b{at} 0 Offset 0"]
        annotations += [f"OpDecorate %tg_v{at} DescriptorSet 7", f"OpDecorate %tg_v{at} Binding {at}"]
        if types[kind][0] == "OpTypeMatrix":
            annotations += [f"OpMemberDecorate %tg_b{at} 0 ColMajor", f"OpMemberDecorate %tg_b{at} 0 MatrixStride 16"]
        declarations += [
            f"%tg_b{at} = OpTypeStruct {kind}",
            f"%tg_p{at} = OpTypePointer StorageBuffer %tg_b{at}",
            f"%tg_q{at} = OpTypePointer StorageBuffer {kind}",
            f"%tg_v{at} = OpVariable %tg_p{at} StorageBuffer",
        ]
        chain = f"%tg_c{at} = OpAccessChain %tg_q{at} %tg_v{at} %tg_0"
        source, to = (f"%tg_c{at}", name) if way == "Input" else (name, f"%tg_c{at}")
        buffers[way] += [chain, f"%tg_l{at} = OpLoad {kind} {source}", f"OpStore {to} %tg_l{at}"]
        kept.append(f"%tg_v{at}")
    code = [f"%tg_main = OpFunction {void} None {function}", "%tg_label = OpLabel", *buffers["Input"]]
    code += [f"%tg_call = OpFunctionCall {void} {main}", *buffers["Output"], "OpReturn", "OpFunctionEnd"]
    is_new = target[-3:] in ("1.4", "1.5", "1.6") and target.startswith("spv") or target in ("vulkan1.2", "vulkan1.3")
    names = [*interface.split(), *kept] if is_new else []

    def first(pattern):
        return next((at for at, line in enumerate(lines) if re.match(pattern, line)), len(lines))

    if not any(re.match(r"\s*OpMemoryModel\s", line) for line in lines):
        raise CannotWrap("no memory model")
    lines += code
    at = first(r"\s*%\w+\s*=\s*OpFunction\s")
    lines[at:at] = declarations
    at = first(r"\s*(%\w+\s*=\s*Op(Type|Constant|Spec|Variable|Undef)|OpType)")
    lines[at:at] = annotations
    at = first(r"\s*OpMemoryModel\s") + 1
    lines[at:at] = [" ".join(['OpEntryPoint GLCompute %tg_main "tg_main"', *names]), "OpExecutionMode %tg_main LocalSize 1 1 1"]
    if not any(re.search(r"OpExtension\s+\"SPV_KHR_storage_buffer_storage_class\"", line) for line in lines) and target == "spv1.0":
        raise CannotWrap("SPIR-V 1.0")
    return "\n".join(lines) + "\n", bindings


def reason(text):
    text = re.sub(r"^error: ", "", text)
    text = re.sub(r"\S*/(before|after)\.spvasm:?\s*", r"\1: ", text)
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", text)
    return re.sub(r"\d+", "N", re.sub(r"%\w+", "%N", text))[:140]


def contents_in(folder, contents):
    return contents if ":" in contents else folder / contents


def writes(args, folder, target, bindings, sets):
    """True if some word is determined that was not there before."""
    floats = struct.unpack("<1024I", FLOATS)
    for contents, before in (("zeros:4096", lambda at: 0), ("ramp:1024", lambda at: at), ("floats", floats.__getitem__)):
        command = [args.tangle, "judge", folder / "before.spvasm", "--json", "--target", target, "--subgroup-size", "8"]
        for name, binding in bindings:
            command += ["--buffer", f"{sets.get(name, 0)}.{binding}={contents_in(folder, contents)}"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        buffers = json.loads(run.stdout)["buffers"] if run.returncode in (0, 1) else []
        if any(word not in (None, before(at)) for buffer in buffers for at, word in enumerate(buffer["words"])):
            return True
    return False


def compared(args, folder, target, flag, before, after):
    """(what became of it, words compared)"""
    tangle = args.tangle
    files = [folder / "before.spvasm", folder / "after.spvasm"]
    before = sized(before)
    files[0].write_text(before)
    files[1].write_text(sized(after))
    if not after:
        files[1] = folder / "after.spv"
        assembly = folder / "before.spv"
        for command in (
            [args.spirv_as, "--target-env", target, "--preserve-numeric-ids", files[0], "-o", assembly],
            [args.spirv_opt, f"--target-env={target}", f"--{flag}", assembly, "-o", files[1]],
        ):
            run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
            if run.returncode:
                return f"{pathlib.Path(command[0]).name} fails: {reason((run.stderr.strip().splitlines() or ['?'])[0])}", 0
        if files[1].read_bytes() == assembly.read_bytes():
            return "the pass changes nothing", 0
    (folder / "floats").write_bytes(FLOATS)
    bindings = sorted(set(re.findall(r"OpDecorate +(%\w+) +Binding +(\d+)", before)))
    sets = dict(re.findall(r"OpDecorate +(%\w+) +DescriptorSet +(\d+)", before))
    words = 0
    nothing = set()
    for contents in CONTENTS:
        command = [tangle, "judge", files[0], "--against", files[1], "--json", "--target", target, "--subgroup-size", "8"]
        for name, binding in bindings:
            command += ["--buffer", f"{sets.get(name, 0)}.{binding}={contents_in(folder, contents)}"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            return f"more than {TIMEOUT} s", 0
        if run.returncode not in (0, 1):
            return "not run: " + reason((run.stderr.strip().splitlines() or ["?"])[-1]), 0
        answer = json.loads(run.stdout)
        if answer["difference"] == "the modules have different buffers":
            return "the pass changes the bindings", 0
        if answer["difference"]:
            return "differs: " + answer["difference"], 0
        words += answer["words"]["compared"]
        if not any(answer["words"].values()):
            run = subprocess.run([*command[:3], *command[5:]], capture_output=True, text=True, timeout=TIMEOUT, check=False)
            undefined = json.loads(run.stdout)["undefined_behaviour"]
            nothing.add("undefined behaviour in both" if undefined else "no buffer that it could write")
        else:
            nothing.add("its words are open")
    if words and not writes(args, folder, target, bindings, sets):
        return "nothing to compare: all that it writes is open, or what was there before", 0
    return ("same", words) if words else ("nothing to compare: " + ", or ".join(sorted(nothing)), 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path, metavar="SPIRV-Tools")
    parser.add_argument("--tangle", default="target/release/tangle", metavar="PROGRAM")
    parser.add_argument("--spirv-opt", default="spirv-opt", metavar="PROGRAM")
    parser.add_argument("--spirv-as", default="spirv-as", metavar="PROGRAM")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    files = sorted((args.checkout / "test/opt").rglob("*.cpp"))
    if not files:
        sys.exit(f"{args.checkout} has no test/opt/*.cpp")
    known = flags(args.checkout)
    rows = collections.defaultdict(list)
    jobs = []
    wrapped = set()
    for path in files:
        for number, (test, target, which, before, after) in enumerate(pairs(path)):
            name = f"{path.name}: {test} ({number})"
            if before is None or after is None:
                rows["not read: the test makes its text while it runs"].append(name)
            elif not after and which not in known:
                rows["spirv-opt has no flag for the pass"].append(name)
            elif before.strip() == after.strip():
                rows["the pass changes nothing"].append(name)
            elif not re.search(r"OpEntryPoint\s+GLCompute", before):
                try:
                    before, bindings = as_compute(before, target)
                    after = after and as_compute(after, target, bindings)[0]
                except CannotWrap as why:
                    rows[f"not for compute, and not made so: {why}"].append(name)
                    continue
                wrapped.add(name)
                jobs.append((name, target, known.get(which), before, after))
            else:
                jobs.append((name, target, known.get(which), before, after))
    total = of_wrapped = 0
    with tempfile.TemporaryDirectory() as scratch:

        def run(numbered):
            number, (_, *job) = numbered
            folder = pathlib.Path(scratch) / str(number)
            folder.mkdir()
            return compared(args, folder, *job)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for (name, *_), (what, words) in zip(jobs, pool.map(run, enumerate(jobs))):
                rows[f"{what} (called from an entry point for compute)" if name in wrapped else what].append(name)
                total += words
                of_wrapped += words if name in wrapped else 0
    of_compute = len(jobs) - len(wrapped)
    print(f"{sum(map(len, rows.values()))} pairs, {of_compute} of compute shaders, {len(wrapped)} of other stages called from one")
    print(f"{total} words compared, {of_wrapped} of the latter")
    for what, names in sorted(rows.items(), key=lambda row: -len(row[1])):
        print(f"{len(names):6} {what}")
        if args.list:
            for name in names:
                print(f"       {name}")
    differs = any(what.startswith("differs") for what in rows)
    if not total and not differs:
        print("nothing was compared")
    sys.exit(1 if differs else 0 if total else 2)


if __name__ == "__main__":
    main()
