"""Fails if a shared library needs another at load time that not every machine has.

The runtime is for machines without LLVM and without a GPU: it opens the driver of a GPU itself, when
it is needed. Usage: check_needed.py LLVM_READELF LIBRARY...
"""

import re
import subprocess
import sys

EVERYWHERE = re.compile(r"(lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s|fmt)|ld-linux[\w-]*)\.so(\.|$)")


def needed(readelf, library):
    command = [readelf, "--dynamic", library]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return re.findall(r"NEEDED\)?\s+Shared library: \[(.+)\]", text)


def main():
    readelf, *libraries = sys.argv[1:]
    wrong = 0
    for library in libraries:
        names = needed(readelf, library)
        if not names:
            print(f"{library}: no library that it needs is found, not even libc")
            wrong += 1
        for name in names:
            if not EVERYWHERE.match(name):
                print(f"{library} needs {name}")
                wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
