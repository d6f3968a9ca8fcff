"""Tests of the edit of .cargo/config.toml."""

import unittest

from cargo_config import MARK, pointed

ENTRY = f'SHADERC_LIB_DIR = "/c/lib" {MARK}\n'


class Pointed(unittest.TestCase):
    def test_new_file(self):
        self.assertEqual(pointed("", "/c/lib"), "[env]\n" + ENTRY)

    def test_own_entry_follows_the_cache_and_then_rests(self):
        moved = pointed(pointed("", "/old/lib"), "/c/lib")
        self.assertEqual(moved, "[env]\n" + ENTRY)
        self.assertEqual(pointed(moved, "/c/lib"), moved)

    def test_other_tables_stay(self):
        build = "[build]\njobs = 1\n"
        self.assertEqual(pointed(build, "/c/lib"), build + "\n[env]\n" + ENTRY)

    def test_table_there_already(self):
        self.assertEqual(pointed("[env] # mine\nA = '1'\n", "/c/lib"), "[env] # mine\n" + ENTRY + "A = '1'\n")

    def test_what_a_person_set_is_left_to_them(self):
        for text in ('[env]\nSHADERC_LIB_DIR = "/mine"\n', 'env.A = "1"\n', '[env.A]\nvalue = "1"\n', 'env = { A = "1" }\n'):
            self.assertIsNone(pointed(text, "/c/lib"))

    def test_quotes_in_a_path(self):
        self.assertIn(r'"/a\"b/lib"', pointed("", '/a"b/lib'))


if __name__ == "__main__":
    unittest.main()
