#!/usr/bin/env python3
"""Runs the compute tests of LLVM's offload-test-suite through `tangle judge`, with each compiler, and compares with what they expect.

    setup/judge_offload.py [--tangle PROGRAM] [--only WORD] [--sizes 4,8,16,32,64,128] [--list] [--plant] [--keep DIR] CHECKOUT

CHECKOUT is a checkout of llvm/offload-test-suite. Nothing of it is copied into this repository. Needs PyYAML (Debian: python3-yaml).

A test is a shader in HLSL, a pipeline in YAML with its buffers, and what they hold afterwards. The shader is compiled for Vulkan with the
arguments that the suite itself gives; the module is executed by the interpreter, and every result is compared by its own rule (BufferExact,
BufferFloatULP, BufferFloatEpsilon, or the printed values of the test's CHECK lines). Compilers: those of `./x setup` (DXC, Slang, Clang) and
glslang, where a program glslangValidator is installed; others by --dxc, --clang, --slang and --glslang (a program, of DXC its library, too).

A shader with subgroup operations is executed with each of the sizes, one with WaveSize(N) with that size only. A row for each compiler:

    agrees         every value that is expected is determined, and is so, with every size
    by size        it agrees with some sizes, and disagrees or is open with others
    maximal        open, since the module promises no reconvergence; with MaximallyReconvergesKHR all values would be as expected
    open           some values are left open, none is another
    equal stores   undefined behaviour: several invocations store to one location. All of them store one value; but for that it agrees
    undefined      the module has other undefined behaviour
    disagrees      some value is determined, and another one is expected
    unsupported    the interpreter does not support the module
    not valid      the compiler's module is not valid
    refused        the compiler refuses the shader, or says that it leaves something out, or ignores push constants
    no check       the test has nothing that can be compared

--list names the tests of each row, --plant changes one bit of every expected value, so that nothing may agree. Exit code: 1 if something
disagrees, with --plant if something does not.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import json
import math
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import typing

try:
    import yaml
except ImportError:
    yaml = None

# A compilation or a run that takes longer is counted as such.
TIMEOUT = 120
SIZES = [4, 8, 16, 32, 64, 128]
# Of several outcomes, with different sizes, the first is the row's.
KINDS = ["disagrees", "by size", "undefined", "open", "maximal", "unsupported", "not run", "not valid", "refused", "no check", "equal stores", "agrees"]

# Formats of the suite: code of `struct`, bytes (offload-test-suite, `setData` of Pipeline.cpp).
FORMATS = {
    "Hex8": ("B", 1), "Hex16": ("H", 2), "Hex32": ("I", 4), "Hex64": ("Q", 8),
    "UInt16": ("H", 2), "UInt32": ("I", 4), "UInt64": ("Q", 8),
    "Int16": ("h", 2), "Int32": ("i", 4), "Int64": ("q", 8),
    "Float16": ("H", 2), "Float32": ("f", 4), "Float64": ("d", 8), "Depth32": ("f", 4), "Bool": ("I", 4),
}  # fmt: skip


class Unreadable(Exception):
    """Why a test cannot be run."""


# The suite's format.


def split_file(text):
    """The parts of a test by name, as LLVM's split-file has them; the last one, which has the RUN lines, is ''."""
    parts, name, lines = {}, "", []
    for line in text.splitlines():
        mark = re.match(r"(?:.|//)--- (\S+)", line)
        if mark:
            parts[name] = "\n".join(lines)
            name, lines = mark[1], []
        else:
            lines.append(line)
    parts[name] = "\n".join(lines)
    return parts


def directives(text, keyword):
    """What stands after KEYWORD: in comments; a line that ends with a backslash goes on in the next such line."""
    found, joined = [], ""
    for line in re.findall(rf"^\s*(?:#|//)\s*{keyword}:[ \t]*(.*)$", text, re.MULTILINE):
        joined += line.strip()
        if joined.endswith("\\"):
            joined = joined[:-1]
            continue
        found.append(joined.strip())
        joined = ""
    return found


def holds(condition, features):
    """A condition of lit: names, `!`, `&&`, `||`, parentheses."""
    words = re.findall(r"&&|\|\||[!()]|[-+=.\w]+", condition)
    python = {"&&": "and", "||": "or", "!": "not", "(": "(", ")": ")"}
    try:
        return bool(eval(" ".join(python.get(word) or str(word in features) for word in words)))  # noqa: S307: only these words
    except SyntaxError:
        return False


def jobs(parts):
    """[(HLSL, arguments, YAML)] of a test's RUN lines."""
    text = "\n".join(parts.values())
    made, found = {}, []
    for line in directives(text, "RUN"):
        line = re.sub(r"%if Vulkan %\{(.*?)%\}", r"\1", line)
        line = re.sub(r"%if .*?%\{.*?%\}", "", line)
        if "%dxc_target" in line:
            words = shlex.split(line.split("%dxc_target", 1)[1].removeprefix("_lib"))
            output = words.index("-Fo") if "-Fo" in words else None
            if output is None:
                continue
            module = words[output + 1]
            rest = words[:output] + words[output + 2 :]
            source = next((word for word in rest if word.endswith(".hlsl")), "")
            made[module] = (source.removeprefix("%t/"), [word for word in rest if word != source])
        elif "%offloader" in line and not line.startswith("not "):
            words = re.findall(r"%t\S*", line.split("%offloader", 1)[1])
            pipeline = next((word.removeprefix("%t/") for word in words if word.endswith(".yaml")), None)
            modules = [word for word in words if word in made]
            if pipeline in parts and len(modules) == 1 and made[modules[0]][0] in parts:
                found.append((*made[modules[0]], pipeline))
    return found


def number(text, code):
    """A scalar of YAML as LLVM reads it."""
    text = str(text)
    if code in "fd":
        if re.match(r"[-+]?0x", text, re.IGNORECASE):
            return float.fromhex(text)
        return float(text.replace(".inf", "inf").replace(".Inf", "inf").replace(".nan", "nan").replace(".NaN", "nan"))
    if text in ("true", "false"):
        return int(text == "true")
    # An octal number begins with 0 alone.
    text = re.sub(r"^([-+]?)0(?=\d)", r"\g<1>0o", text)
    return int(text, 0)


def packed(values, code):
    """Their bytes."""
    try:
        if code == "f":
            values = [math.copysign(math.inf, value) if abs(value) > 3.4028235677973366e38 else value for value in values]
        return struct.pack(f"<{len(values)}{code}", *values)
    except (struct.error, OverflowError) as error:
        raise Unreadable(f"a number of the test does not fit its format: {error}") from error


class Buffer:
    """A buffer of the pipeline: `data` has the bytes of each element of an array of descriptors."""

    def __init__(self, spec):
        self.name, self.format = spec["Name"], spec["Format"]
        if self.format not in FORMATS:
            raise Unreadable(f"unknown format {self.format}")
        self.code, self.width = FORMATS[self.format]
        self.channels = int(spec.get("Channels", 1))
        count = int(spec.get("ArraySize", 1))
        self.stride = int(spec.get("Stride", 0)) or self.channels * self.width
        self.extent = spec.get("OutputProps")
        size = int(spec.get("FillSize", 0), 0) if isinstance(spec.get("FillSize", 0), str) else 0
        if size > 0:
            value = packed([number(spec.get("FillValue", 0), self.code)], self.code)
            self.data = [(value * (size // len(value) + 1))[:size]] * count
        else:
            rows = spec.get("Data", [])
            rows = rows if count > 1 else [rows]
            if len(rows) != count:
                raise Unreadable(f"{self.name} has {len(rows)} elements and not {count}")
            self.data = [packed([number(value, self.code) for value in row or []], self.code) for row in rows]


class Pipeline:
    """What of a pipeline's YAML concerns a compute shader."""

    def __init__(self, text):
        # Scalars as they are written: YAML 1.1 has another reading of numbers than LLVM.
        # LLVM's reader takes tabs, and commas with nothing between them.
        text = re.sub(r",(\s*,)+", ",", text.replace("\t", "  "))
        documents = [document for document in yaml.load_all(text, Loader=yaml.BaseLoader) if document]
        if not documents:
            raise Unreadable("the pipeline is empty")
        spec = documents[0]
        stages = [shader.get("Stage") for shader in spec.get("Shaders") or []]
        if stages != ["Compute"]:
            raise Unreadable("no compute shader")
        self.entry = spec["Shaders"][0].get("Entry", "main")
        self.constants = spec["Shaders"][0].get("SpecializationConstants") or []
        if ((spec.get("RuntimeSettings") or {}).get("DirectX") or {}).get("RootParameters"):
            raise Unreadable("a root signature of DirectX")
        groups = (spec.get("DispatchParameters") or {}).get("DispatchGroupCount") or spec["Shaders"][0].get("DispatchSize")
        self.workgroups = [int(count) for count in groups or [1, 1, 1]]
        self.buffers = {buffer["Name"]: Buffer(buffer) for buffer in spec.get("Buffers") or []}
        self.results = spec.get("Results") or []
        # (set, binding) of each resource, and of its counter.
        self.places = {}
        self.counters = {}
        for at, group in enumerate(spec.get("DescriptorSets") or []):
            for resource in group.get("Resources") or []:
                if resource.get("Name") not in self.buffers:
                    continue
                # Without one, what compilers make of the register: the suite does not run such a test on Vulkan.
                binding = resource.get("VulkanBinding") or {}
                registers = resource.get("DirectXBinding") or {}
                place = (at, binding.get("Binding")) if binding else (registers.get("Space", at), registers.get("Register"))
                if place[1] is None:
                    raise Unreadable("a resource without a binding")
                place = (int(place[0]), int(place[1]))
                if place in self.places.values():
                    raise Unreadable("two resources with one binding: the test is not made for Vulkan")
                self.places[resource["Name"]] = place
                if "CounterBinding" in binding:
                    self.counters[resource["Name"]] = (at, int(binding["CounterBinding"]))
        push = bytearray()
        for block in spec.get("PushConstants") or []:
            for value in block.get("Values") or []:
                code, _ = FORMATS[value["Format"]]
                data, offset = packed([number(item, code) for item in value["Data"]], code), int(value["Offset"])
                push.extend(bytes(max(0, offset + len(data) - len(push))))
                push[offset : offset + len(data)] = data
        self.push = bytes(push)


# What the module asks for.


class Module(typing.NamedTuple):
    # {(set, binding): image}: the number of the format of an image, 0 if it has none; else None.
    images: dict
    # It has subgroup operations.
    grouped: bool
    # {name: (set, binding)}.
    names: dict
    # It has push constants.
    push: bool


def bindings(module):
    """What of a module a test needs: Module."""
    words = struct.unpack(f"<{len(module) // 4}I", module[: len(module) // 4 * 4])
    if not words or words[0] != 0x07230203:
        raise Unreadable("no module")
    sets, places, types, variables, names, capabilities, classes, at = {}, {}, {}, {}, {}, set(), set(), 5
    while at < len(words):
        count, code = words[at] >> 16, words[at] & 0xFFFF
        operands = words[at + 1 : at + count]
        if code == 71 and operands[1] in (33, 34):  # OpDecorate Binding, DescriptorSet
            (places if operands[1] == 33 else sets)[operands[0]] = operands[2]
        elif code == 5:  # OpName
            names[operands[0]] = struct.pack(f"<{count - 2}I", *operands[1:]).split(b"\0")[0].decode(errors="replace")
        elif code == 17:  # OpCapability
            capabilities.add(operands[0])
        elif code in (25, 27, 28, 29, 30, 32):  # OpTypeImage, SampledImage, Array, RuntimeArray, Struct, Pointer
            types[operands[0]] = (code, operands[1:])
        elif code == 59:  # OpVariable
            variables[operands[1]] = operands[0]
            classes.add(operands[2])
        at += max(count, 1)
    found = {}
    for variable, binding in places.items():
        code, operands = types.get(variables.get(variable), (0, ()))
        while code in (27, 28, 29, 32) and operands:
            code, operands = types.get(operands[1] if code == 32 else operands[0], (0, ()))
        image = operands[6] if code == 25 else None
        found[sets.get(variable, 0), binding] = image
    # GroupNonUniform…, of the KHR extensions before them SubgroupBallot and SubgroupVote, …Rotate, …Partitioned, quad control.
    grouped = bool(capabilities & {*range(61, 69), 4423, 4431, 5087, 5297, 6026})
    named = {names[variable]: (sets.get(variable, 0), binding) for variable, binding in places.items() if variable in names}
    return Module(found, grouped, named, 9 in classes)


def moved(places, names, shader):
    """The places of the resources in this module. To one that the shader gives no register the compiler gives a number: then its name counts."""
    given = {name for name in places if "vk::binding" in shader or re.search(rf"\b{re.escape(name)}\b[^;{{}}]*:\s*register\b", shader)}
    there = {name: place if name in given else names.get(name, place) for name, place in places.items()}
    return there if len(set(there.values())) == len(there) else places


def widened(data, buffer):
    """Texels of an image without a format: four components of 32 bits each."""
    if buffer.width > 4:
        raise Unreadable("an image without a format, of 64 bits")
    values = struct.unpack(f"<{len(data) // buffer.width}{'e' if buffer.format == 'Float16' else buffer.code}", data)
    real = buffer.format in ("Float16", "Float32", "Depth32")
    code = "f" if real else "i" if buffer.format.startswith("Int") else "I"
    texels = [values[at : at + buffer.channels] for at in range(0, len(values), buffer.channels)]
    return b"".join(struct.pack(f"<4{code}", *texel, *[0, 0, 0, 1][len(texel) :]) for texel in texels)


def narrowed(words, buffer):
    """The same back: words, or None where open. Of 32-bit formats only, whose words are the elements."""
    return [word for at in range(0, len(words), 4) for word in words[at : at + buffer.channels]]


# Compilers.


def wide(text):
    return ctypes.create_unicode_buffer(text)


def compile_by_library(path, source, output, arguments):
    """DXC's library: what the program dxc does with these arguments (dxcapi.h, and crates/compilers/src/dxc_api.rs)."""

    class Guid(ctypes.Structure):
        _fields_ = [("a", ctypes.c_uint32), ("b", ctypes.c_uint16), ("c", ctypes.c_uint16), ("d", ctypes.c_uint8 * 8)]

    def guid(text):
        a, b, c, d, e = text.split("-")
        return Guid(int(a, 16), int(b, 16), int(c, 16), (ctypes.c_uint8 * 8)(*bytes.fromhex(d + e)))

    library = ctypes.CDLL(path)
    version = pathlib.Path(path).parent / "version"
    said = re.match(r"DXC 1\.(\d+)", version.read_text()) if version.is_file() else None
    # Before 1.8 the tables have two destructors.
    own = 3 + (2 if said and int(said[1]) < 8 else 0)
    pointer = ctypes.c_void_p

    def call(this, entry, *arguments):
        table = ctypes.cast(this, ctypes.POINTER(ctypes.POINTER(pointer))).contents
        types = [pointer if isinstance(value, pointer) else type(value) for value in arguments]
        function = ctypes.CFUNCTYPE(ctypes.c_size_t, pointer, *types)(table[own + entry])
        return function(this, *arguments)

    def created(class_id, interface):
        this = pointer()
        library.DxcCreateInstance(ctypes.byref(guid(class_id)), ctypes.byref(guid(interface)), ctypes.byref(this))
        return this

    def out(value):
        return ctypes.cast(ctypes.byref(value), pointer)

    files = created("6245d6af-66e0-48fd-80b4-4d271796748c", "e5204dc7-d18c-4c3c-bdfb-851673980fe7")
    compiler = created("73e22d93-e6ce-47f3-b5bf-f0664f39c1b0", "8c210bf3-011f-4422-8d70-6f9acb8db617")
    text = pathlib.Path(source).read_bytes()
    held = ctypes.create_string_buffer(text, len(text))
    blob, result, answer, status = pointer(), pointer(), pointer(), ctypes.c_int32()
    number32 = ctypes.c_uint32
    call(files, 3, ctypes.cast(held, pointer), number32(len(text)), number32(65001), out(blob))
    profile = arguments[arguments.index("-T") + 1]
    entry = arguments[arguments.index("-E") + 1] if "-E" in arguments else "main"
    named = {arguments.index(name) + more for name in ("-T", "-E") if name in arguments for more in (0, 1)}
    rest = [wide(word) for at, word in enumerate(arguments) if at not in named]
    words = (pointer * len(rest))(*[ctypes.cast(word, pointer) for word in rest])
    strings = [wide("source.hlsl"), wide(entry), wide(profile)]
    code = call(
        compiler, 0, blob, *[ctypes.cast(string, pointer) for string in strings], ctypes.cast(words, pointer), number32(len(rest)),
        pointer(), number32(0), pointer(), out(result),
    )  # fmt: skip
    if not result.value:
        sys.exit(f"error: it gives no result, code {code & 0xffffffff:#x}")
    call(result, 0, out(status))
    call(result, 2 if status.value < 0 else 1, out(answer))
    if not answer.value:
        sys.exit(f"error: it gives neither a module nor a message, status {status.value & 0xffffffff:#x}")
    data = ctypes.string_at(call(answer, 0), call(answer, 1))
    if status.value < 0:
        sys.exit(data.decode(errors="replace").replace("\0", ""))
    pathlib.Path(output).write_bytes(data)


def without(arguments, *names):
    """The arguments without options of these names; those with a value lose that, too."""
    kept, skip = [], False
    for word in arguments:
        if skip:
            skip = False
        elif word in names:
            skip = word in ("-T", "-E", "-HV")
        else:
            kept.append(word)
    return kept


def option(arguments, name, default):
    return arguments[arguments.index(name) + 1] if name in arguments else default


class Compiler:
    """One of the compilers: `command` is how it is started."""

    def __init__(self, name, command, version):
        self.name, self.start, self.version = name, command, version

    def command(self, source, output, arguments):
        """What compiles SOURCE. As in the suite's own configuration for Vulkan (test/lit.cfg.py)."""
        if self.name == "dxc":
            # The suite's DXC has HLSL 2021 as its default; 1.7 of 2022 had 2018.
            language = [] if "-HV" in arguments else ["-HV", "2021"]
            return [*self.start, "-spirv", "-fspv-target-env=vulkan1.3", *language, *arguments, "-Fo", output, source]
        if self.name == "clang":
            clang = ["--driver-mode=dxc", "-spirv", "-fspv-target-env=vulkan1.3", "-fspv-extension=DXC", "-fno-crash-diagnostics"]
            return [*self.start, *clang, *arguments, "-Fo", output, source]
        entry, profile = option(arguments, "-E", "main"), option(arguments, "-T", "cs_6_0")
        if self.name == "slang":
            slang = ["-lang", "hlsl", "-target", "spirv", "-O0", "-stage", "compute", "-warnings-disable", "41012,41024"]
            # Row-major in memory as in the suite's other compilers: -Zpr is theirs. Its own default is the same as HLSL's.
            # For push constants -fvk-use-dx-layout means the layout of constant buffers; in DXC that of structured buffers, whose scalars are packed.
            push = "push_constant" in pathlib.Path(source).read_text(errors="replace")
            layout = "-fvk-use-scalar-layout" if push else "-fvk-use-dx-layout"
            more = [layout] if "-fvk-use-dx-layout" in arguments else []
            more += ["-matrix-layout-row-major"] if "-Zpr" in arguments else ["-matrix-layout-column-major"]
            return [*self.start, *slang, *more, "-entry", entry, "-profile", f"{profile.replace('cs', 'sm')}+spirv_1_6", source, "-o", output]
        more = ["--hlsl-dx9-compatible"] if "-Gec" in arguments else []
        # Without --auto-map-bindings all resources without a register have binding 0.
        return [*self.start, "-D", "-V", "--target-env", "vulkan1.1", "--auto-map-bindings", "-S", "comp", "-e", entry, *more, source, "-o", output]


def said(run):
    """The first line of a failed compilation that says why."""
    text = (run.stderr + "\n" + run.stdout).strip()
    lines = text.splitlines()
    marks = ("Missing functionality", "error in backend", "LLVM ERROR", "fatal error", "error:", "error", "ERROR:", "Assertion", "Running pass")
    for mark in marks:
        for line in lines:
            if mark in line:
                return reason(line)
    return reason(lines[0]) if lines else f"exit code {run.returncode}"


def reason(text):
    """Without places and numbers, so that like ones are counted together."""
    text = re.sub(r"^.*?(error|ERROR)( in backend)?( E?\d+)?(\[\w+\])?: ", "", text.strip())
    text = re.sub(r"^\S*source\.hlsl\S*:? ?", "", text)
    text = re.sub(r"\S*/\S*\.(spv|hlsl)(:\d+)*:? ?", "", text)
    text = re.sub(r"0x[0-9a-f]+|\d+", "N", text)
    return re.sub(r"%\S+", "%N", text)[:140]


def found_compilers(args):
    """Those that are here."""
    cache = pathlib.Path(os.environ.get("TANGLE_CACHE") or pathlib.Path.home() / ".cache/tangle") / "compilers"
    places = {"dxc": cache / "dxc/libdxcompiler.so", "clang": cache / "clang/clang", "slang": cache / "slang/slangc", "glslang": None}
    found = []
    for name, place in places.items():
        given = getattr(args, name)
        path = given or place
        if name == "glslang" and not path:
            path = next((f"{folder}/glslangValidator" for folder in os.get_exec_path() if os.access(f"{folder}/glslangValidator", os.X_OK)), None)
        if not path or not os.path.exists(path):
            if given:
                sys.exit(f"there is no {given}")
            continue
        path = os.path.abspath(path)
        version = pathlib.Path(path).parent / "version"
        start = [sys.executable, os.path.abspath(__file__), "--by-library", path] if ".so" in path else [path]
        found.append(Compiler(name, start, version.read_text().strip() if version.is_file() and not given else path))
    if args.compilers:
        wanted = args.compilers.split(",")
        found = [compiler for compiler in found if compiler.name in wanted]
    if not found:
        sys.exit("there is no compiler of HLSL: ./x setup --compilers dxc,slang,clang gets three, --dxc and the like name others")
    return found


# Comparison: Check.cpp of the suite.


def is_denormal(value, width):
    return value != 0 and abs(value) < (2.0**-126 if width == 4 else 2.0**-1022)


def ordered(bits):
    return (~bits & 0xFFFF) if bits & 0x8000 else bits | 0x8000


def same_float(actual, expected, buffer, result):
    """One element by BufferFloatULP or BufferFloatEpsilon; both as bytes."""
    code = {2: "e", 4: "f", 8: "d"}[buffer.width]
    (a,), (b,) = struct.unpack(f"<{code}", actual), struct.unpack(f"<{code}", expected)
    if a == b:
        return True
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if buffer.width > 2 and result.get("DenormMode", "Any") == "Any":
        if is_denormal(b, buffer.width) and a == 0 and math.copysign(1, a) == math.copysign(1, b):
            return True
    if result["Rule"] == "BufferFloatEpsilon":
        return abs(a - b) < float(result["Epsilon"])
    zero = float(result.get("ZeroTolerance", 0))
    if zero > 0 and (abs(a) <= zero or abs(b) <= zero):
        return abs(a - b) <= zero
    x, y = int.from_bytes(actual, "little"), int.from_bytes(expected, "little")
    distance = abs(ordered(x) - ordered(y)) if buffer.width == 2 else abs(x - y)
    return distance <= int(result["ULPT"])


def same_printed(actual, expected, buffer):
    """One element, as LLVM prints it, against what a CHECK line has."""
    (value,) = struct.unpack(f"<{buffer.code}", actual)
    if buffer.code in "fd":
        wanted = number(expected, buffer.code)
        return value == wanted or math.isnan(value) and math.isnan(wanted) or f"{value:g}" == f"{wanted:g}"
    return value == number(expected, buffer.code)


def checked(text, order):
    """{buffer: (values, true if there are no more)} of the CHECK lines. Without a name they are those of the next buffer in the order."""
    lines = re.findall(r"^\s*(?:#|//)\s*CHECK(?:-NEXT|-LABEL|-DAG|-SAME)?:[ \t]*(.*)$", text, re.MULTILINE)
    text = " ".join(re.sub(r"\s+#.*", "", line) for line in lines)
    found, at, name = {}, -1, None
    for word in re.finditer(r"\bName: (\w+)|\bData:\s*(\[([^\]\[]*)(\]?))?", text):
        if word[1]:
            name = word[1]
            continue
        at = order.index(name) if name in order else at + 1
        name = None
        if word[2] and at < len(order):
            values = [value for value in re.split(r"[,\s]+", word[3].strip()) if value]
            if values and all(re.fullmatch(r"[-+.\w]+", value) and re.match(r"[-+.]?(\d|inf|nan)", value) for value in values):
                found[order[at]] = (values, bool(word[4]))
    return found


class Outcome:
    """How values compare: how many are the same, others, open."""

    def __init__(self):
        self.same = self.other = self.open = 0
        self.first = ""

    def count(self, name, element, bits, wanted, same):
        if bits is None:
            self.open += 1
            return
        if same(bits):
            self.same += 1
        else:
            self.other += 1
            wanted = wanted if isinstance(wanted, str) else shown(wanted)
            self.first = self.first or f"{name}[{element}] is {shown(bits)}, expected {wanted}"


def shown(data):
    return f"{int.from_bytes(data, 'little'):#x}"


def planted(data, width):
    """Another value of each element: the second-highest bit changed, which is one of the exponent's."""
    return b"".join(data[at : at + width - 1] + bytes([data[at + width - 1] ^ 0x40]) for at in range(0, len(data), width))


def element(words, at, width):
    """The bytes of an element, None if a word of it is open."""
    part = words[at // 4 : (at + width - 1) // 4 + 1]
    if len(part) * 4 < (at % 4) + width or any(word is None for word in part):
        return None
    return struct.pack(f"<{len(part)}I", *part)[at % 4 : at % 4 + width]


def compared(pipeline, words_of, checks, plant):
    """Outcome of all results. `words_of(buffer)` gives the words of each element of its array of descriptors."""
    outcome = Outcome()
    for result in pipeline.results:
        actual, expected = pipeline.buffers.get(result["Actual"]), pipeline.buffers.get(result["Expected"])
        if actual is None or expected is None or result["Rule"] not in ("BufferExact", "BufferFloatULP", "BufferFloatEpsilon"):
            raise Unreadable(f"the rule {result['Rule']}, or a buffer of it, is not known")
        lists = words_of(actual)
        if [len(data) for data in actual.data] != [len(data) for data in expected.data]:
            raise Unreadable(f"{actual.name} and {expected.name} have different sizes")
        for index, (words, data) in enumerate(zip(lists, expected.data)):
            data = planted(data, expected.width) if plant else data
            for at in range(0, len(data) - expected.width + 1, expected.width):
                wanted = data[at : at + expected.width]
                exact = result["Rule"] == "BufferExact"
                same = (lambda bits, w=wanted: bits == w) if exact else lambda bits, w=wanted: same_float(bits, w, expected, result)
                place = at // expected.width if len(lists) == 1 else f"{index}][{at // expected.width}"
                outcome.count(actual.name, place, element(words, at, expected.width), wanted, same)
    if pipeline.results:
        return outcome
    for name, (values, whole) in checked(checks, list(pipeline.buffers)).items():
        buffer = pipeline.buffers[name]
        words = [word for words in words_of(buffer) for word in words]
        if whole and len(values) != sum(len(data) for data in buffer.data) // buffer.width:
            continue
        for at, wanted in enumerate(values):
            bits = element(words, at * buffer.width, buffer.width)
            bits = planted(bits, buffer.width) if plant and bits else bits
            outcome.count(name, at, bits, wanted, lambda bits, w=wanted: same_printed(bits, w, buffer))
    return outcome


# A test with a compiler.


def judge(args, module, pipeline, checks, size, folder):
    """(kind, detail) of a module with one subgroup size."""
    found = bindings(module.read_bytes()).images
    command = [args.tangle, "judge", "--json", str(module), "--subgroup-size", str(size), "--workgroups", ",".join(map(str, pipeline.workgroups))]
    for constant in pipeline.constants:
        code, width = FORMATS[constant["Type"]]
        bits = int.from_bytes(packed([number(constant["Value"], code)], code), "little")
        command += ["--spec", f"{constant['ConstantID']}={bits:#x}"]
    if pipeline.push:
        (folder / "push").write_bytes(pipeline.push)
        command += ["--push", str(folder / "push")]
    without_format = set()
    for name, place in pipeline.places.items():
        if place not in found:
            continue
        buffer = pipeline.buffers[name]
        for at, data in enumerate(buffer.data):
            if found[place] == 0:
                without_format.add(name)
                data = widened(data, buffer)
            if found[place] is not None:
                extent = buffer.extent
                if extent and int(extent.get("MipLevels", 1)) > 1:
                    raise Unreadable("an image with several levels")
                texels = len(buffer.data[at]) // (buffer.channels * buffer.width)
                sides = [extent["Width"], extent["Height"], extent["Depth"]] if extent else [texels]
                if at == 0:
                    command += ["--image", f"{place[0]}.{place[1]}={'x'.join(map(str, sides))}"]
            path = folder / f"{place[0]}.{place[1]}.{at}"
            path.write_bytes(data + bytes(-len(data) % 4))
            which = f"[{at}]" if len(buffer.data) > 1 else ""
            command += ["--buffer", f"{place[0]}.{place[1]}{which}={path}"]
    for place in pipeline.counters.values():
        if place in found:
            command += ["--buffer", f"{place[0]}.{place[1]}=zeros:4"]
    (folder / "command").write_text(shlex.join(map(str, command)) + "\n")
    kind, detail = executed(args, command, pipeline, checks, without_format)
    if kind == "undefined" and detail.startswith("data race") and not args.strict:
        command.append("--equal-stores")
        again, more = executed(args, command, pipeline, checks, without_format)
        if again == "agrees":
            return "equal stores", ""
        if again != "undefined":
            kind, detail = again, f"{more} [with --equal-stores]"
    if kind == "open" and "lanes that execute it together" in detail:
        if executed(args, [*command, "--as", "maximal"], pipeline, checks, without_format)[0] == "agrees":
            return "maximal", ""
    return kind, detail


def executed(args, command, pipeline, checks, without_format):
    """(kind, detail) of one run."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return "not run", f"more than {TIMEOUT} s"
    if run.returncode not in (0, 1):
        line = (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[0]
        if "not valid:" in line:
            return "not valid", reason(line.split("not valid:", 1)[1])
        kind = "unsupported" if "support" in line else "not run"
        return kind, reason(line.removeprefix("error: "))
    answer = json.loads(run.stdout)
    if answer["undefined_behaviour"]:
        return "undefined", reason(answer["undefined_behaviour"])
    left = {(b["set"], b["binding"], b["element"]): b["words"] for b in answer["buffers"] if "set" in b}

    def words_of(buffer):
        lists = []
        for at, data in enumerate(buffer.data):
            place = pipeline.places.get(buffer.name)
            words = left.get((*place, at)) if place else None
            if words is None:
                data = data + bytes(-len(data) % 4)
                words = list(struct.unpack(f"<{len(data) // 4}I", data))
            elif buffer.name in without_format:
                words = narrowed(words, buffer)
            lists.append(words)
        return lists

    outcome = compared(pipeline, words_of, checks, args.plant)
    if outcome.other:
        return "disagrees", f"{outcome.other} of {outcome.same + outcome.other + outcome.open} values; {outcome.first}"
    if outcome.open:
        reasons = "; ".join(answer.get("reasons", [])[:1])
        return "open", f"{outcome.open} of {outcome.same + outcome.open} values: {reason(reasons)}"
    return ("agrees", "") if outcome.same else ("no check", "")


def compiled(compiler, parts, source, arguments, folder):
    """The module's path, or (kind, detail)."""
    if compiler.name == "glslang" and "-enable-16bit-types" in arguments:
        return "refused", "it has no types of 16 bits"
    for name, text in parts.items():
        if name:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
    output = folder / "module.spv"
    command = compiler.command(str(folder / source), str(output), arguments)
    (folder / "compile").write_text(shlex.join(command) + "\n")
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False, cwd=folder)
    except subprocess.TimeoutExpired:
        return "refused", f"more than {TIMEOUT} s"
    # glslang gives a module all the same, without what it cannot do.
    if run.returncode or not output.is_file() or "Missing functionality" in run.stdout:
        return "refused", said(run)
    return output


def run_test(args, compiler, path, folder):
    """(kind, detail) of a test with a compiler."""
    text = path.read_text(errors="replace")
    parts = split_file(text)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    try:
        for at, (source, arguments, pipeline) in enumerate(jobs(parts)):
            here = folder / str(at)
            here.mkdir(exist_ok=True)
            pipeline = Pipeline(parts[pipeline])
            if not pipeline.results and not checked(text, list(pipeline.buffers)):
                raise Unreadable("no expected values: an image, or patterns")
            if "StaticSampler(" in parts[source]:
                raise Unreadable("a sampler of a root signature of DirectX")
            module = compiled(compiler, parts, source, arguments, here)
            if isinstance(module, tuple):
                rows.append(module)
                continue
            wave = re.search(r"\[WaveSize\((\d+)\)\]", parts[source])
            there = bindings(module.read_bytes())
            if pipeline.push and not there.push:
                rows.append(("refused", "it ignores [[vk::push_constant]]"))
                continue
            pipeline.places = moved(pipeline.places, there.names, parts[source])
            sizes = [int(wave[1])] if wave else args.sizes if there.grouped else args.sizes[-2:-1] or args.sizes
            by_size = {size: judge(args, module, pipeline, text, size, here) for size in sizes}
            rows.append(together(by_size))
    except Unreadable as error:
        return "no check", str(error)
    except yaml.YAMLError as error:
        return "no check", "the YAML: " + str(error).splitlines()[0]
    if not rows:
        return "no check", "no run of a compute shader that has to succeed"
    return min(rows, key=lambda row: KINDS.index(row[0]))


def together(by_size):
    """One row of what came out with several sizes."""
    kinds = collections.defaultdict(list)
    for size, (kind, _) in by_size.items():
        kinds[kind].append(size)
    first = min(by_size.values(), key=lambda row: KINDS.index(row[0]))
    if len(kinds) == 1:
        return first
    what = ", ".join(f"{kind} with {' '.join(map(str, sizes))}" for kind, sizes in kinds.items())
    return ("by size" if "agrees" in kinds else first[0]), f"{what}: {first[1]}"


def expectation(path, compiler):
    """What the suite says of the test on Vulkan: XFAIL or UNSUPPORTED, with its condition."""
    features = {"Vulkan", "Linux", "DXC" if compiler == "dxc" else "Clang" if compiler == "clang" else compiler}
    text = path.read_text(errors="replace")
    for keyword in ("UNSUPPORTED", "XFAIL"):
        for condition in directives(text, keyword):
            if holds(condition, features):
                return f" [{keyword}: {condition}]"
    return ""


def is_compute(path):
    return re.search(r"Stage:\s*Compute", path.read_text(errors="replace")) is not None


def main():
    if sys.argv[1:2] == ["--by-library"]:
        library, *arguments = sys.argv[2:]
        at = arguments.index("-Fo")
        return compile_by_library(library, arguments[-1], arguments[at + 1], arguments[:at] + arguments[at + 2 : -1])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path, metavar="CHECKOUT")
    parser.add_argument("--tangle", default="target/release/tangle", metavar="PROGRAM")
    parser.add_argument("--compilers", default="", metavar="LIST", help="only these, as dxc,clang")
    for name in ("dxc", "clang", "slang", "glslang"):
        parser.add_argument(f"--{name}", metavar="PATH", help="this one instead of the one that is set up")
    parser.add_argument("--sizes", default=SIZES, type=lambda text: [int(size) for size in text.split(",")], metavar="LIST", help="subgroup sizes")
    parser.add_argument("--only", default="", metavar="WORD", help="only tests whose path has this in it")
    parser.add_argument("--list", action="store_true", help="name the tests of each row")
    parser.add_argument("--strict", action="store_true", help="stores of one value by several invocations are undefined behaviour, too")
    parser.add_argument("--plant", action="store_true", help="change one bit of every expected value: nothing may agree")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep shaders, modules and buffers there")
    args = parser.parse_args()
    if yaml is None:
        sys.exit("PyYAML is not there, and the tests are YAML: apt-get install python3-yaml, or pip install pyyaml")
    top = args.checkout / "test"
    tests = [
        path
        for path in sorted(top.rglob("*"))
        if path.suffix in (".test", ".yaml") and path.is_file() and args.only in str(path.relative_to(top)) and is_compute(path)
    ]
    # Those of the suite's own tools.
    tests = [path for path in tests if "Tools" not in path.relative_to(top).parts]
    if not tests:
        sys.exit(f"no compute test is below {top}")
    args.tangle = os.path.abspath(args.tangle) if os.path.exists(args.tangle) else args.tangle
    compilers = found_compilers(args)
    work = [(compiler, path) for compiler in compilers for path in tests]
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = (args.keep or pathlib.Path(scratch)).absolute()
        place = lambda compiler, path: folder / compiler.name / "_".join(path.relative_to(top).parts)  # noqa: E731
        rows = list(pool.map(lambda item: run_test(args, *item, place(*item)), work))
    return report(args, compilers, tests, dict(zip(work, rows)), top)


def report(args, compilers, tests, rows, top):
    """Prints the tables; the exit code."""
    for compiler in compilers:
        print(f"{compiler.name}: {compiler.version}")
        reasons = collections.defaultdict(list)
        for path in tests:
            kind, detail = rows[compiler, path]
            reasons[kind, detail if kind not in ("disagrees", "by size") else ""].append((path, detail))
        for (kind, detail), paths in sorted(reasons.items(), key=lambda row: (KINDS.index(row[0][0]), -len(row[1]))):
            if kind == "agrees":
                continue
            print(f"{len(paths):6} {kind}" + (f": {detail}" if detail else ""))
            if args.list or kind in ("disagrees", "by size", "undefined", "open"):
                for path, own in paths:
                    print(f"           {path.relative_to(top)}{expectation(path, compiler.name)}" + (f": {own}" if not detail else ""))
        print()
    columns = [kind for kind in ["agrees", *KINDS[:-1]] if any(row[0] == kind for row in rows.values())]
    print(f"{len(tests)} tests  " + "  ".join(columns))
    for compiler in compilers:
        counts = collections.Counter(rows[compiler, path][0] for path in tests)
        print(f"{compiler.name:10} " + "  ".join(f"{counts[kind]:>{len(kind)}}" for kind in columns))
    if args.plant:
        return 1 if any(row[0] in ("agrees", "by size", "maximal", "equal stores") for row in rows.values()) else 0
    return 1 if any(row[0] == "disagrees" for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
