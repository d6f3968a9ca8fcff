"""Tint, as Dawn uses it on Vulkan: WGSL becomes the module that Dawn gives to the driver.

Started with the folder of the Python package wgpudawn and the Vulkan layer that hands over modules (setup/module_layer.c), which the environment has
the Vulkan loader load. Reads a shader from each line of the standard input (a JSON string) and answers each with a line on the standard output:
{"spirv": words in hexadecimal, the lowest byte first}, or {"refused": message}. The first line is {"ready": Dawn's version}, or {"absent": why it cannot run}.

A refusal is believed of a process's first shader only: one that was asked for others before ends without an answer.
"""

import ctypes
import json
import os
import re
import resource
import sys
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

FIRST = "@compute @workgroup_size(1) fn main() {}"


class Tint:
    def __init__(self, folder, layer):
        sys.path.insert(0, folder)
        import wgpudawn
        from wgpudawn._lib import dawn_version
        from wgpudawn.backends.dawn import _extras_device

        _extras_device.set_instance_extras(backends=["Vulkan"], enable_toggles=["allow_unsafe_apis"])
        adapter = wgpudawn.gpu.request_adapter_sync()
        self.wgpu = wgpudawn
        self.version = dawn_version
        self.device = adapter.request_device_sync(
            required_features=[name for name in FEATURES if name in adapter.features],
            required_limits={name: value for name, value in adapter.limits.items() if name in LIMITS},
        )
        self.last_module = ctypes.CDLL(layer).tangle_module
        self.last_module.restype = ctypes.c_void_p
        self.asked = 0
        if "spirv" not in self.compile(FIRST):
            raise RuntimeError(f"the Vulkan loader does not load {layer}")
        self.asked = 0

    def compile(self, source):
        self.asked += 1
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS, most))
        message = "it makes no module and does not say why"
        try:
            module = self.device.create_shader_module(code=source)
            self.device.create_compute_pipeline(layout=self.layout(source), compute={"module": module, "entry_point": "main"})
        except self.wgpu.GPUError as error:
            message = str(error)
        count = ctypes.c_size_t()
        words = self.last_module(ctypes.byref(count))
        if count.value:
            return {"spirv": ctypes.string_at(words, 4 * count.value).hex()}
        if self.asked > 1:
            os._exit(1)
        return {"refused": message}

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


def put(value):
    print(json.dumps(value), flush=True)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        tint = Tint(*sys.argv[1:])
    except Exception as error:  # Whatever it is, there is no Dawn here.
        put({"absent": f"{type(error).__name__}: {error}"})
        return
    put({"ready": tint.version})
    for line in sys.stdin:
        put(tint.compile(json.loads(line)))


main()
