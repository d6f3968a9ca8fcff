#!/usr/bin/env python3
"""seeds.py ZIP FILE...: a seed corpus, every file under the hash of its contents."""
import hashlib
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
    for name in sorted(sys.argv[2:]):
        with open(name, "rb") as file:
            contents = file.read()
        archive.writestr(zipfile.ZipInfo(hashlib.sha1(contents).hexdigest()), contents)
