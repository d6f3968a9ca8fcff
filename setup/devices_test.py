"""Tests of the list of drivers: what a person wrote stays."""

import json
import os
import tempfile
import unittest
from pathlib import Path

import devices


class Merge(unittest.TestCase):
    def setUp(self):
        self.new = {name: devices.entry(name, "package 1", f"/d/{name}.json") for name in ("a", "b")}
        self.written = "\n".join(self.new.values())
        self.text = devices.merge(None, None, self.new)

    def names(self, text):
        return [name for name, _ in devices.split(text)[1]]

    def test_first_time_lists_all_below_the_header(self):
        self.assertTrue(self.text.startswith(devices.HEADER))
        self.assertEqual(self.names(self.text), ["a", "b"])

    def test_nothing_new_changes_nothing(self):
        self.assertEqual(devices.merge(self.text, self.written, self.new), self.text)

    def test_changed_entry_stays(self):
        edited = self.text.replace("/d/a.json", "/mine.json")
        newer = {name: text.replace("package 1", "package 2") for name, text in self.new.items()}
        merged = devices.merge(edited, self.written, newer)
        self.assertIn("/mine.json", merged)
        self.assertNotIn("/d/a.json", merged)
        self.assertIn('name = "b"  # package 2', merged)

    def test_entry_of_ones_own_stays_and_keeps_its_place(self):
        own = '[[driver]]\nmanifest = "/own.json"\nname = \'own\'\n'
        merged = devices.merge(own + "\n" + self.text, self.written, {"b": self.new["b"]})
        self.assertEqual(self.names(merged), ["own", "b"])

    def test_deleted_entry_does_not_come_back(self):
        head, blocks = devices.split(self.text)
        shorter = head + "\n\n" + blocks[1][1]
        self.assertEqual(self.names(devices.merge(shorter, self.written, self.new)), ["b"])

    def test_driver_that_came_later_is_added(self):
        later = self.new | {"c": devices.entry("c", "package 1", "/d/c.json")}
        self.assertEqual(self.names(devices.merge(self.text, self.written, later)), ["a", "b", "c"])

    def test_header_of_ones_own_stays(self):
        own = self.text.replace(devices.HEADER, "# mine\n")
        self.assertTrue(devices.merge(own, self.written, self.new).startswith("# mine\n"))


class Entries(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="with space ")
        self.addCleanup(folder.cleanup)
        self.drivers = Path(folder.name)

    def driver(self, name, package, drivers, *libraries):
        folder = self.drivers / name
        (folder / "lib").mkdir(parents=True)
        (folder / "icd.d").mkdir()
        for driver in drivers:
            manifest = {"ICD": {"library_path": f"./libvulkan_{driver}.so", "api_version": "1.3"}}
            (folder / "icd.d" / f"{driver}.json").write_text(json.dumps(manifest))
        (folder / "packages.txt").write_text(f"libc6\t2\n{package}\t1.2\n")
        for file in libraries:
            (folder / "lib" / file).touch()
        return folder

    def entries(self, wide_vectors=False):
        return devices.entries(self.drivers, wide_vectors)

    def test_driver_with_its_own_c_library_runs_through_its_own_loader(self):
        folder = self.driver("trixie", "mesa-vulkan-drivers", ["lvp"], "ld-linux-x86-64.so.2")
        text = self.entries()["lavapipe-trixie"]
        self.assertIn(f'prefix = ["{folder}/lib/ld-linux-x86-64.so.2", "--library-path", "{folder}/lib"]', text)
        manifest = json.loads((folder / "lvp.json").read_text())
        self.assertEqual(manifest["ICD"], {"library_path": f"{folder}/libvulkan_lvp.so", "api_version": "1.3"})

    def test_driver_without_one_uses_the_machines(self):
        folder = self.driver("old", "mesa-vulkan-drivers", ["lvp"])
        text = self.entries()["lavapipe-old"]
        self.assertNotIn("prefix", text)
        self.assertIn(f'env = {{ LP_NUM_THREADS = "1", LD_LIBRARY_PATH = "{folder}/lib" }}', text)

    def test_vector_widths_follow_the_cpu(self):
        self.driver("sid", "mesa-vulkan-drivers", ["lvp"], "ld-linux-x86-64.so.2")
        names = ["lavapipe-sid", "lavapipe-sid-w128", "lavapipe-sid-w512"]
        self.assertEqual(list(self.entries(wide_vectors=True)), names)
        debugging = [name for name, text in self.entries(wide_vectors=True).items() if "debug = true" in text]
        self.assertEqual(debugging, ["lavapipe-sid-w512"])
        self.assertEqual(list(self.entries()), names[:2])

    def test_lavapipe_of_the_system_keeps_its_name(self):
        manifest = self.drivers / "lvp_icd.json"
        manifest.touch()
        self.assertEqual(devices.system_lavapipe(self.drivers), manifest)
        found = devices.entries(self.drivers, True, manifest)
        self.assertEqual(list(found), ["lvp", "lvp-w128", "lvp-w512"])
        self.assertIn(f'manifest = "{manifest}"', found["lvp"])

    def test_hardware_drivers_only_compile_through_their_shims(self):
        shim = "libamdgpu_noop_drm_shim.so"
        folder = self.driver("sid", "mesa-vulkan-drivers", ["radeon", "nouveau"], "ld-linux-x86-64.so.2", shim)
        self.driver("old", "mesa-vulkan-drivers", ["radeon"], shim)
        found = self.entries()
        # No shim for nouveau; one chip only of the older suite.
        self.assertEqual(list(found), ["radv-old-navi21", "radv-sid-navi21", "radv-sid-vega10", "radv-sid-gfx1201"])
        new, old = found["radv-sid-vega10"], found["radv-old-navi21"]
        self.assertIn(f'"--preload", "{folder}/lib/{shim}"]', new)
        self.assertIn('env = { AMDGPU_GPU_ID = "vega10" }', new)
        self.assertIn(f'LD_PRELOAD = "{self.drivers}/old/lib/{shim}", AMDGPU_GPU_ID = "navi21"', old)
        for text in new, old:
            self.assertIn('mode = "compile-only"', text)

    def test_shim_of_ones_own_serves_every_suite(self):
        self.driver("trixie", "mesa-vulkan-drivers", ["intel"], "ld-linux-x86-64.so.2")
        self.assertEqual(self.entries(), {})
        shim = self.driver("intel-shim", "meson", []) / "libintel_noop_drm_shim.so"
        shim.touch()
        self.assertIn(f'"--preload", "{shim}"', self.entries()["anv-trixie-dg2"])

    def test_opengl_runs_on_its_suites_lavapipe_and_on_llvmpipe(self):
        folder = self.driver("sid", "mesa-vulkan-drivers", ["lvp"], "ld-linux-x86-64.so.2")
        self.assertNotIn("gl-zink-sid", self.entries())
        (folder / "egl.json").touch()
        found = self.entries()
        zink, llvmpipe = found["gl-zink-sid"], found["gl-llvmpipe-sid"]
        for text in zink, llvmpipe:
            self.assertIn(f'api = "opengl"\nmanifest = "{folder}/egl.json"\nprefix = ["{folder}/lib/ld-linux-x86-64.so.2"', text)
            self.assertIn('LIBGL_ALWAYS_SOFTWARE = "1"', text)
        self.assertIn(f'GALLIUM_DRIVER = "zink", VK_DRIVER_FILES = "{folder}/lvp.json"', zink)
        self.assertIn('GALLIUM_DRIVER = "llvmpipe"', llvmpipe)
        self.assertNotIn("VK_DRIVER_FILES", llvmpipe)

    def test_webgpu_runs_on_swiftshader_and_the_newest_lavapipe(self):
        folder = self.driver("sid", "mesa-vulkan-drivers", ["lvp"], "ld-linux-x86-64.so.2")
        self.driver("swiftshader", "chromium-common", ["swiftshader"])
        self.driver("trixie", "mesa-vulkan-drivers", ["lvp"], "ld-linux-x86-64.so.2")
        runtime = self.drivers / "tint"
        self.assertNotIn("webgpu-swiftshader", devices.entries(self.drivers, False, None, runtime))
        runtime.mkdir()
        (runtime / "version").touch()
        found = devices.entries(self.drivers, False, None, runtime)
        self.assertEqual(list(found)[-2:], ["webgpu-lavapipe-sid", "webgpu-swiftshader"])
        text = found["webgpu-lavapipe-sid"]
        self.assertIn(f'api = "webgpu"\nmanifest = "{folder}/lvp.json"\nprefix = ["{folder}/lib/ld-linux-x86-64.so.2"', text)
        self.assertIn('LP_NUM_THREADS = "1"', text)

    def test_unfinished_driver_is_not_listed(self):
        self.driver(".new-sid", "mesa-vulkan-drivers", ["lvp"])
        self.assertEqual(self.entries(), {})


class Probe(unittest.TestCase):
    def test_what_goes_wrong_is_said(self):
        self.assertEqual(devices.probe("/bin/true", {"manifest": "/no/such"}), ("there is no /no/such", False))
        self.assertEqual(devices.probe("/bin/sh", {"prefix": ["/bin/false"]}), ("exit status 1", False))
        self.assertFalse(devices.probe("/bin/true", {"prefix": ["/no/such"]})[1])

    def test_prefix_and_environment_reach_the_program(self):
        driver = {"prefix": ["/bin/sh", "-c", 'echo "$A $VK_DRIVER_FILES $0"'], "env": {"A": "1"}, "manifest": os.__file__}
        self.assertEqual(devices.probe("/p", driver), (f"1 {os.__file__} /p", True))

    def test_opengl_is_asked_for_through_its_own_loader(self):
        driver = {
            "api": "opengl",
            "prefix": ["/bin/sh", "-c", 'echo "$__EGL_VENDOR_LIBRARY_FILENAMES $1"'],
            "manifest": os.__file__,
        }
        self.assertEqual(devices.probe("/p", driver), (f"{os.__file__} opengl", True))

    def test_webgpu_is_asked_for_by_the_driver_beneath(self):
        driver = {"api": "webgpu", "prefix": ["/bin/sh", "-c", 'echo "$VK_DRIVER_FILES$1"'], "manifest": os.__file__}
        self.assertEqual(devices.probe("/p", driver), (f"WebGPU on {os.__file__}", True))


if __name__ == "__main__":
    unittest.main()
