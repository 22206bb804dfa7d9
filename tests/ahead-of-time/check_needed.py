"""The example's object has no undefined symbol, and the program needs the C library alone."""

import pathlib
import re
import subprocess
import sys

tools, folder = map(pathlib.Path, sys.argv[1:])


def output(tool, *arguments):
    return subprocess.run([tools / tool, *arguments], check=True, capture_output=True, text=True).stdout


undefined = output("llvm-nm", "--undefined-only", folder / "window.o").strip()
assert not undefined, f"window.o calls {undefined}"

needed = re.findall(r"Shared library: \[(.*)\]", output("llvm-readelf", "--dynamic", folder / "attention"))
others = [library for library in needed if not re.fullmatch(r"libc\.so\.\d+", library)]
assert needed and not others, f"attention needs {others or 'nothing'}"

exported = output("llvm-nm", "--defined-only", "--extern-only", "--format=just-symbols", folder / "window.o")
functions = ["check", "items", "run", "run_item", "status_text", "workspace_size"]
assert sorted(exported.split()) == [f"window_{name}" for name in functions], exported
