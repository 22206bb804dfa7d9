"""Fails if a shared library exports anything but names of namespace tilewright and of its C interface.

A host may link another LLVM or fmt: none of ours may be visible to it.
Usage: check_exports.py LLVM_NM LIBRARY...
"""

import re
import subprocess
import sys

OURS = re.compile(r"((typeinfo|typeinfo name|vtable) for )?tilewright::|tilewright_\w+$")


def exports(nm, library):
    command = [nm, "--dynamic", "--demangle", "--defined-only", "--format=just-symbols", library]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def main():
    nm, *libraries = sys.argv[1:]
    wrong = 0
    for library in libraries:
        names = exports(nm, library)
        if not names:
            print(f"{library} exports nothing")
            wrong += 1
        for name in names:
            if not OURS.match(name) or "mlir::" in name or "llvm::" in name:
                print(f"{library} exports {name}")
                wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
