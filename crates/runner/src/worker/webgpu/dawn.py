"""Dawn for a worker: shaders in WGSL run on the Vulkan driver that the environment names.

    python3 -I -c <this> FOLDER        FOLDER has the Python package wgpudawn

Speaks with the worker in lines of JSON on standard input and output. A line with a member "bytes" has so many bytes behind it: words of
buffers, in the order of the machine, one buffer behind the other.

    worker                                        this
                                              <-  {"ready": version, "adapters": [...]} or {"absent": why}
    {"open": index}                           ->
                                              <-  {"opened": true} or {"broken": why}
    {"wgsl": ..., "bindings": ..., "launches": ..., "bytes": n}
                                              ->
                                              <-  {"stage": "pipeline"}, {"stage": "submit", "launch": 0} ...
                                              <-  {"done": microseconds by name, "processor_us": n, "bytes": n} or {"failed": ...}
                                                  or {"lost": message} or {"broken": why}
    end of input                              ->  this ends

What a crash of Dawn or of the driver does to this process is for the worker to see.
"""

import ctypes
import json
import os
import re
import signal
import sys
import time

# prctl(2).
PR_SET_PDEATHSIG = 1

# Exit code of a worker without memory.
OUT_OF_MEMORY = 79

# GPUFeatureName: those that tangle uses.
FEATURES = ["subgroups", "subgroup-size-control", "shader-f16"]

# GPUSupportedLimits: those that tangle uses, of which a device gets all that the adapter has.
LIMITS = [
    "max-bindings-per-bind-group",
    "max-buffer-size",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-size-x",
    "max-compute-workgroup-size-y",
    "max-compute-workgroup-size-z",
    "max-compute-workgroup-storage-size",
    "max-compute-workgroups-per-dimension",
    "max-immediate-size",
    "max-storage-buffer-binding-size",
    "max-storage-buffers-per-shader-stage",
    "max-uniform-buffer-binding-size",
    "max-uniform-buffers-per-shader-stage",
]


class Dawn:
    def __init__(self, folder):
        sys.path.insert(0, folder)
        import wgpudawn
        from wgpudawn._lib import dawn_version, ffi, lib
        from wgpudawn.backends.dawn import _extras_device

        # No toggles: what every program gets.
        _extras_device.set_instance_extras(backends=["Vulkan"])
        self.wgpu, self.ffi, self.lib, self.version = wgpudawn, ffi, lib, dawn_version
        self.adapters = [each for each in wgpudawn.gpu.enumerate_adapters_sync() if each.info["backend_type"] == "Vulkan"]
        self.device = None
        self.call = ""

    def described(self, adapter):
        # The package does not hand on the range of sizes.
        info = self.ffi.new("WGPUAdapterInfo *")
        if self.lib.wgpuAdapterGetInfo(adapter._internal, info) != self.lib.WGPUStatus_Success:
            raise RuntimeError("wgpuAdapterGetInfo fails")
        return {
            "device": adapter.info["device"],
            "description": adapter.info["description"],
            "backend": adapter.info["backend_type"],
            "type": adapter.info["adapter_type"],
            "vendor_id": adapter.info["vendor_id"],
            "device_id": adapter.info["device_id"],
            "subgroup_min_size": info.subgroupMinSize,
            "subgroup_max_size": info.subgroupMaxSize,
            "features": [name for name in FEATURES if name in adapter.features],
            "limits": {name: adapter.limits[name] for name in LIMITS},
        }

    def open(self, index):
        adapter = self.adapters[index]
        features = [name for name in FEATURES if name in adapter.features]
        limits = {name: adapter.limits[name] for name in LIMITS}
        self.device = adapter.request_device_sync(required_features=features, required_limits=limits)

    def is_lost(self):
        return self.device._get_lost_async()._state != "pending"

    def run(self, job, data):
        """Runs a job with the contents of its buffers; says which stage begins, and gives back what is read."""
        wgpu, device, times, read = self.wgpu, self.device, {}, []
        clock = Clock(times)
        say({"stage": "module"})
        self.call = "createShaderModule"
        module = device.create_shader_module(code=job["wgsl"])
        self.call = "createBindGroupLayout"
        visible = wgpu.ShaderStage.COMPUTE
        entries = [{"binding": number, "visibility": visible, "buffer": {"type": kind}} for number, kind in job["bindings"]]
        group_layout = device.create_bind_group_layout(entries=entries)
        self.call = "createPipelineLayout"
        layout = device.create_pipeline_layout(bind_group_layouts=[group_layout], immediate_size=job["immediates"])
        clock.read("module_us")
        say({"stage": "pipeline"})
        self.call = "createComputePipeline"
        pipeline = device.create_compute_pipeline(layout=layout, compute={"module": module, "entry_point": "main"})
        clock.read("pipeline_us")
        declared = {number for number, _ in job["bindings"]}
        at = 0
        for number, launch in enumerate(job["launches"]):
            say({"stage": "prepare", "launch": number})
            self.call = "createBuffer"
            buffers, bound = [], []
            for binding, uniform, size, has_data, is_read in launch["buffers"]:
                usage = wgpu.BufferUsage.UNIFORM if uniform else wgpu.BufferUsage.STORAGE
                usage |= wgpu.BufferUsage.COPY_DST | wgpu.BufferUsage.COPY_SRC
                # Zeros, if nothing is written (WebGPU, createBuffer).
                buffer = device.create_buffer(size=size, usage=usage)
                if has_data:
                    device.queue.write_buffer(buffer, 0, data[at : at + size])
                    at += size
                buffers.append((buffer, size, is_read))
                if binding in declared:
                    bound.append({"binding": binding, "resource": {"buffer": buffer, "offset": 0, "size": size}})
            total = sum(size for _, size, is_read in buffers if is_read)
            staging = device.create_buffer(size=max(total, 4), usage=wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST)
            self.call = "createBindGroup"
            group = device.create_bind_group(layout=group_layout, entries=bound)
            self.call = "finish"
            encoder = device.create_command_encoder()
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            immediates = bytes.fromhex(launch["immediates"])
            if immediates:
                compute.set_immediates(0, immediates, 0, len(immediates))
            compute.dispatch_workgroups(*launch["groups"])
            compute.end()
            end = 0
            for buffer, size, is_read in buffers:
                if is_read:
                    encoder.copy_buffer_to_buffer(buffer, 0, staging, end, size)
                    end += size
            commands = encoder.finish()
            clock.read("prepare_us")
            say({"stage": "submit", "launch": number})
            self.call = "submit"
            device.queue.submit([commands])
            say({"stage": "wait", "launch": number})
            self.call = "mapAsync"
            staging.map_sync(wgpu.MapMode.READ)
            clock.read("submit_wait_us")
            say({"stage": "read_back", "launch": number})
            read.append(bytes(staging.read_mapped(copy=False))[:total])
            staging.unmap()
            for buffer in [staging, *(buffer for buffer, _, _ in buffers)]:
                buffer.destroy()
            clock.read("read_back_us")
        say({"stage": "cleanup"})
        return times, b"".join(read)

    def answer(self, job, data):
        before = time.process_time_ns()
        try:
            times, read = self.run(job, data)
        except self.wgpu.GPUError as error:
            kind = type(error).__name__
            failed = {"failed": {"kind": kind, "call": self.call, "message": str(error)}}
            return ({"lost": str(error)} if self.is_lost() else failed), b""
        except RuntimeError as error:
            # That a buffer cannot be mapped, among others.
            return ({"lost": str(error)} if self.is_lost() else {"broken": f"{self.call}: {error}"}), b""
        processor = (time.process_time_ns() - before) // 1000
        return {"done": times, "processor_us": processor, "bytes": len(read)}, read


class Clock:
    """Adds up what parts of a job take."""

    def __init__(self, times):
        self.times, self.last = times, time.monotonic_ns()

    def read(self, name):
        now = time.monotonic_ns()
        self.times[name] = self.times.get(name, 0) + (now - self.last) // 1000
        self.last = now


OUTPUT = None


def say(value, data=b""):
    OUTPUT.write(json.dumps(value).encode() + b"\n" + data)
    OUTPUT.flush()


def leave_without_memory():
    """As the worker does it (worker/memory.rs): what C++ does without memory would look like a crash."""
    leave = ctypes.CFUNCTYPE(None)(lambda: os._exit(OUT_OF_MEMORY))
    for name in ["libstdc++.so.6", "libc++.so.1"]:
        try:
            library = ctypes.CDLL(name, os.RTLD_LAZY | os.RTLD_NOLOAD)
            library["_ZSt15set_new_handlerPFvvE"](leave)
        except (OSError, AttributeError):
            continue
    return leave


def main():
    global OUTPUT
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    # Drivers print what they like.
    OUTPUT = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        dawn = Dawn(sys.argv[1])
        adapters = [dawn.described(adapter) for adapter in dawn.adapters]
    except Exception as error:  # Whatever it is, there is no Dawn here.
        say({"absent": f"{type(error).__name__}: {error}"})
        return
    say({"ready": dawn.version, "adapters": adapters})
    handler = None
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        try:
            if "open" in asked:
                dawn.open(asked["open"])
                handler = leave_without_memory()
                say({"opened": True})
            else:
                say(*dawn.answer(asked, sys.stdin.buffer.read(asked["bytes"])))
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except Exception as error:  # The mistake is here, or in the package; nothing is said of Dawn.
            say({"broken": re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")})


main()
