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

    def driver(self, name, package, library, *libraries):
        folder = self.drivers / name
        (folder / "lib").mkdir(parents=True)
        (folder / "icd.json").write_text(json.dumps({"ICD": {"library_path": library, "api_version": "1.3"}}))
        (folder / "packages.txt").write_text(f"libc6\t2\n{package}\t1.2\n")
        for file in libraries:
            (folder / "lib" / file).touch()
        return folder

    def test_driver_with_its_own_c_library_runs_through_its_own_loader(self):
        folder = self.driver("trixie", "mesa-vulkan-drivers", "./libvulkan_lvp.so", "ld-linux-x86-64.so.2")
        text = devices.entries(self.drivers, wide_vectors=True)["lavapipe-trixie"]
        self.assertIn(f'prefix = ["{folder}/lib/ld-linux-x86-64.so.2", "--library-path", "{folder}/lib"]', text)
        manifest = json.loads((folder / "manifest.json").read_text())
        self.assertEqual(manifest["ICD"], {"library_path": f"{folder}/libvulkan_lvp.so", "api_version": "1.3"})

    def test_driver_without_one_uses_the_machines(self):
        folder = self.driver("old", "mesa-vulkan-drivers", "libvulkan_lvp.so")
        text = devices.entries(self.drivers, wide_vectors=True)["lavapipe-old"]
        self.assertNotIn("prefix", text)
        self.assertIn(f'env = {{ LP_NUM_THREADS = "1", LD_LIBRARY_PATH = "{folder}/lib" }}', text)

    def test_vector_widths_follow_the_cpu(self):
        self.driver("sid", "mesa-vulkan-drivers", "libvulkan_lvp.so", "ld-linux-x86-64.so.2")
        names = ["lavapipe-sid", "lavapipe-sid-w128", "lavapipe-sid-w512"]
        self.assertEqual(list(devices.entries(self.drivers, wide_vectors=True)), names)
        self.assertEqual(list(devices.entries(self.drivers, wide_vectors=False)), names[:2])

    def test_unfinished_driver_is_not_listed(self):
        self.driver(".new-sid", "mesa-vulkan-drivers", "libvulkan_lvp.so")
        self.assertEqual(devices.entries(self.drivers, wide_vectors=False), {})


class Probe(unittest.TestCase):
    def test_what_goes_wrong_is_said(self):
        self.assertEqual(devices.probe("/bin/true", {"manifest": "/no/such"}), ("there is no /no/such", False))
        self.assertEqual(devices.probe("/bin/sh", {"prefix": ["/bin/false"]}), ("exit status 1", False))
        self.assertFalse(devices.probe("/bin/true", {"prefix": ["/no/such"]})[1])

    def test_prefix_and_environment_reach_the_program(self):
        driver = {"prefix": ["/bin/sh", "-c", 'echo "$A $VK_DRIVER_FILES $0"'], "env": {"A": "1"}, "manifest": os.__file__}
        self.assertEqual(devices.probe("/p", driver), (f"1 {os.__file__} /p", True))


if __name__ == "__main__":
    unittest.main()
