"""SPIRV-Cross by its C interface, kept running: SPIR-V becomes GLSL, as by `spirv-cross -V --version 450`.

Started with the library. Reads a module from each line of the standard input (its bytes, in hexadecimal) and answers each with a line on the
standard output: {"glsl": text}, or {"refused": message}, or {"absent": why it says nothing of the module}. The first line is {"ready": version}, or {"absent": why it cannot run}.
"""

import ctypes
import json
import os
import resource
import sys
import time

# The most processor time for a module, seconds: SIGXCPU ends this process then. Memory is limited by who starts it.
SECONDS = 20

# spirv_cross_c.h.
BACKEND_GLSL = 1
TAKE_OWNERSHIP = 1
GLSL_VERSION = 0x2000000 | 8
GLSL_ES = 0x2000000 | 9
GLSL_VULKAN_SEMANTICS = 0x2000000 | 10


class Refused(Exception):
    pass


class SpirvCross:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.spvc_context_get_last_error_string.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p()
        self.call("context_create", ctypes.byref(self.context))

    def version(self):
        parts = [ctypes.c_uint() for _ in range(3)]
        self.library.spvc_get_version(*[ctypes.byref(part) for part in parts])
        return ".".join(str(part.value) for part in parts)

    def call(self, name, *arguments):
        if getattr(self.library, f"spvc_{name}")(*arguments) != 0:
            raise Refused(self.library.spvc_context_get_last_error_string(self.context).decode(errors="replace"))

    def glsl(self, module):
        ir, compiler, options = (ctypes.c_void_p() for _ in range(3))
        source = ctypes.c_char_p()
        try:
            self.call("context_parse_spirv", self.context, module, ctypes.c_size_t(len(module) // 4), ctypes.byref(ir))
            self.call("context_create_compiler", self.context, BACKEND_GLSL, ir, TAKE_OWNERSHIP, ctypes.byref(compiler))
            self.call("compiler_create_compiler_options", compiler, ctypes.byref(options))
            for option, value in ((GLSL_VERSION, 450), (GLSL_ES, 0), (GLSL_VULKAN_SEMANTICS, 1)):
                self.call("compiler_options_set_uint", options, option, value)
            self.call("compiler_install_compiler_options", compiler, options)
            self.call("compiler_compile", compiler, ctypes.byref(source))
            return source.value.decode(errors="replace")
        finally:
            self.library.spvc_context_release_allocations(self.context)


def put(answers, value):
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def main():
    # What the library prints is no answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    try:
        spirv_cross = SpirvCross(sys.argv[1])
        put(answers, {"ready": spirv_cross.version()})
    except Exception as error:  # Whatever it is, there is no SPIRV-Cross here.
        put(answers, {"absent": f"{type(error).__name__}: {error}"})
        return
    for line in sys.stdin:
        limit = int(time.process_time()) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))
        try:
            put(answers, {"glsl": spirv_cross.glsl(bytes.fromhex(line))})
        except (Refused, MemoryError) as error:
            put(answers, {"refused": str(error) or "out of memory"})
        except Exception as error:  # This is no answer of SPIRV-Cross.
            put(answers, {"absent": f"{type(error).__name__}: {error}"})


main()
