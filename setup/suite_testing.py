"""What the tests of the judge_*.py scripts share: a folder, programs that stand for others, and whole runs of a script."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock


class SuiteCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        environment = mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)

    def program(self, name, text):
        """A program in Python, by its path."""
        path = self.folder / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)
        return str(path)

    def run_script(self, script, *arguments):
        """(exit code, what it printed)"""
        out = io.StringIO()
        command = [script.__name__, *map(str, arguments)]
        with mock.patch.object(sys, "argv", command), contextlib.redirect_stdout(out):
            try:
                code = script.main()
            except SystemExit as end:
                code = end.code
        return code, out.getvalue()
