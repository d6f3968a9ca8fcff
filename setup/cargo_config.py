"""Points cargo at the shaderc library, in a checkout's own .cargo/config.toml, and leaves the rest of that file alone.

    cargo_config.py CONFIG LIBRARY_DIR
"""

import json
import re
import sys
from pathlib import Path

MARK = "# kept up to date by ./x setup"
OURS = re.compile(r"^\s*SHADERC_LIB_DIR\s*=.*" + re.escape(MARK) + r"\s*$")
SET = re.compile(r"^\s*(env\s*\.\s*)?SHADERC_LIB_DIR\b")
TABLE = re.compile(r"^\s*\[\s*env\s*\]\s*(#.*)?$")
OTHER_FORM = re.compile(r"^\s*(env\s*[.=]|\[\s*env\s*\.)")


def pointed(text, directory):
    """The text of the config with the library in it, or None where a person has to decide."""
    # A JSON string is a TOML string.
    entry = f"SHADERC_LIB_DIR = {json.dumps(directory, ensure_ascii=False)} {MARK}"
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if OURS.match(line):
            lines[number] = entry
            return "\n".join(lines) + "\n"
    if any(SET.match(line) or OTHER_FORM.match(line) for line in lines):
        return None
    for number, line in enumerate(lines):
        if TABLE.match(line):
            lines.insert(number + 1, entry)
            return "\n".join(lines) + "\n"
    return "\n".join([*lines, *([""] if lines else []), "[env]", entry]) + "\n"


def main(config, directory):
    config = Path(config)
    old = config.read_text() if config.exists() else ""
    new = pointed(old, directory)
    if new is None:
        if directory not in old:
            print(
                f"warning: {config} has settings of its own under [env] and was left alone; for `cargo build` add there: "
                f"SHADERC_LIB_DIR = {json.dumps(directory, ensure_ascii=False)}",
                file=sys.stderr,
            )
    elif new != old:
        config.parent.mkdir(exist_ok=True)
        temporary = config.with_suffix(".new")
        temporary.write_text(new)
        temporary.replace(config)


if __name__ == "__main__":
    main(*sys.argv[1:])
