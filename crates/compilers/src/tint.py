"""Tint, as Dawn uses it on Vulkan: WGSL becomes the module that Dawn gives to the driver.

Started with the folder of the Python package wgpudawn. Reads a shader from each line of the standard input (a JSON string) and answers
each with a line on the standard output: {"spirv": assembly}, or {"refused": message}. The first line is {"ready": Dawn's version}, or
{"absent": why it cannot run}.

A shader is compiled in a process forked for it, which ends once Dawn has said what it gives to the driver: what the driver would make of
it takes ten times as long. Nothing that becomes of that process does any harm to this one.
"""

import ctypes
import gc
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time

# The most processor time for a shader, seconds. Memory is limited by who starts this.
SECONDS = 60

FEATURES = ["subgroups", "shader-f16"]

LIMITS = [
    "max-compute-workgroup-size-x",
    "max-compute-workgroup-size-y",
    "max-compute-workgroup-size-z",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-storage-size",
    "max-immediate-size",
]

# A shader of each kind of what shaders declare.
FIRST = """@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<uniform> words: vec4u;
@compute @workgroup_size(1) fn main() { data[0] = words.x; }
"""

# prctl(2).
PR_SET_PDEATHSIG = 1


class StringView(ctypes.Structure):
    """WGPUStringView of webgpu.h."""

    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]


LoggingCallback = ctypes.CFUNCTYPE(None, ctypes.c_int, StringView, ctypes.c_void_p, ctypes.c_void_p)


class LoggingCallbackInfo(ctypes.Structure):
    """WGPULoggingCallbackInfo of webgpu.h."""

    _fields_ = [("next", ctypes.c_void_p), ("callback", LoggingCallback), ("one", ctypes.c_void_p), ("two", ctypes.c_void_p)]


class Tint:
    def __init__(self, folder):
        sys.path.insert(0, folder)
        import wgpudawn
        from wgpudawn._lib import dawn_version, ffi, lib
        from wgpudawn.backends.dawn import _extras_device

        _extras_device.set_instance_extras(backends=["Vulkan"], enable_toggles=["allow_unsafe_apis", "dump_shaders"])
        adapter = wgpudawn.gpu.request_adapter_sync()
        self.wgpu = wgpudawn
        self.version = dawn_version
        self.answers = sys.stdout.fileno()
        self.device = adapter.request_device_sync(
            required_features=[name for name in FEATURES if name in adapter.features],
            required_limits={name: value for name, value in adapter.limits.items() if name in LIMITS},
        )
        # The package has no function for this one.
        name = b"wgpuDeviceSetLoggingCallback"
        chars = ffi.new("char[]", name)
        view = ffi.new("WGPUStringView *")
        view.data, view.length = chars, len(name)
        function = int(ffi.cast("uintptr_t", lib.wgpuGetProcAddress(view[0])))
        self.callback = LoggingCallback(lambda _kind, text, _one, _two: self.dumped(ctypes.string_at(text.data, text.length)))
        set_callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, LoggingCallbackInfo)(function)
        device = int(ffi.cast("uintptr_t", self.device._internal))
        set_callback(device, LoggingCallbackInfo(None, self.callback, None, None))

    def dumped(self, said):
        """Ends the process of a shader when it is the module."""
        text = said.decode(errors="replace")
        if "OpEntryPoint GLCompute" in text:
            text = re.sub(r'(OpEntryPoint GLCompute %\S+ )"\w+"', r'\1"main"', text[text.index("; SPIR-V") :], count=1)
            self.end({"spirv": text})

    def end(self, value):
        with os.fdopen(self.answers, "w") as pipe:
            pipe.write(json.dumps(value))
        os._exit(0)

    def prepare(self):
        """Does what only the first shader needs, and has the collector leave what is there alone: what a forked process writes is copied for it."""
        self.device.create_shader_module(code=FIRST)
        self.layout(FIRST)
        gc.freeze()

    def compile(self, source):
        """Ends the process, with an answer."""
        try:
            module = self.device.create_shader_module(code=source)
            self.device.create_compute_pipeline(layout=self.layout(source), compute={"module": module, "entry_point": "main"})
        except self.wgpu.GPUError as error:
            self.end({"refused": str(error)})
        self.end({"refused": "it makes no module and does not say why"})

    def layout(self, source):
        """A layout with every binding up to the last: Dawn numbers them anew without gaps."""
        declared = re.findall(r"@binding\((\d+)\)\s*var<(uniform|storage, \w+)>", source)
        kinds = {int(number): kind for number, kind in declared}
        types = {"uniform": "uniform", "storage, read": "read-only-storage", "storage, read_write": "storage"}
        entries = [
            {"binding": number, "visibility": self.wgpu.ShaderStage.COMPUTE, "buffer": {"type": types[kinds.get(number, "uniform")]}}
            for number in range(max(kinds, default=-1) + 1)
        ]
        group = self.device.create_bind_group_layout(entries=entries)
        # A structure of words; the module's is as long as the layout says.
        immediates = re.search(r"struct Push \{([^}]*)\}", source)
        size = 4 * immediates[1].count(":") if immediates else 0
        return self.device.create_pipeline_layout(bind_group_layouts=[group], immediate_size=size)

    def answer(self, source):
        """What a process of its own makes of a shader."""
        read, write = os.pipe()
        with tempfile.TemporaryFile() as stderr:
            child = os.fork()
            if child == 0:
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                _, most = resource.getrlimit(resource.RLIMIT_CPU)
                resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS, most))
                os.close(read)
                os.dup2(stderr.fileno(), sys.stderr.fileno())
                self.answers = write
                self.compile(source)
            os.close(write)
            with os.fdopen(read) as pipe:
                text = pipe.read()
            _, status = os.waitpid(child, 0)
            if text:
                return json.loads(text)
            stderr.seek(0)
            said = stderr.read(1 << 20).decode(errors="replace").strip()
        if not os.WIFSIGNALED(status):
            return {"refused": f"it ends without an answer\n{said}"}
        if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
            return {"refused": f"it does not end in {SECONDS} seconds\n{said}"}
        return {"refused": f"it crashes with signal {os.WTERMSIG(status)}\n{said}"}


def put(value):
    print(json.dumps(value), flush=True)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        tint = Tint(sys.argv[1])
        tint.prepare()
    except Exception as error:  # Whatever it is, there is no Dawn here.
        put({"absent": f"{type(error).__name__}: {error}"})
        return
    put({"ready": tint.version})
    for line in sys.stdin:
        put(tint.answer(json.loads(line)))


main()
