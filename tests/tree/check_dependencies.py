"""Fails if an #include goes against the direction in which folders depend on each other.

    lib <- runtime <- compiler        lib <- dialect <- compiler

lib and runtime know neither LLVM nor CUDA. Within lib and compiler a folder includes only from
folders listed above it in the CMakeLists.txt of its parent. Run from the root of the repository.
"""

import pathlib
import re
import sys

MAY_INCLUDE = {
    "lib": {"lib"},
    "runtime": {"lib", "runtime"},
    "dialect": {"lib", "dialect"},
    "compiler": {"lib", "runtime", "dialect", "compiler"},
}
FREE_OF_LLVM = {"lib", "runtime"}
ORDERED = {"lib", "compiler"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)


def installed_headers():
    """Where each header that users include as <tilewright/...> lives."""
    return {
        str(path.relative_to(folder)): path
        for top in MAY_INCLUDE
        for folder in pathlib.Path(top).glob("**/include")
        for path in folder.rglob("*.h")
    }


def listed_folders(top):
    """The folders of `top` in the order of its CMakeLists.txt."""
    text = pathlib.Path(top, "CMakeLists.txt").read_text()
    return re.findall(r"add_subdirectory\((\w+)\)", text)


def complaint(source, included, order):
    """Why `source` must not include `included` (both paths), or None."""
    top, target = source.parts[0], included.parts[0]
    if target in ("llvm", "llvm-c", "mlir", "mlir-c") and top in FREE_OF_LLVM:
        return f"{top}/ knows no LLVM"
    if included.name in ("cuda.h", "cuda_runtime.h"):
        return "the driver interface is declared by ourselves"
    if target not in MAY_INCLUDE:
        return None
    if target not in MAY_INCLUDE[top]:
        return f"{top}/ does not depend on {target}/"
    if top == target and top in order and included.parts[1] != "include":
        from_, to = source.parts[1], included.parts[1]
        folders = order[top]
        if from_ in folders and to in folders and folders.index(to) > folders.index(from_):
            return f"{top}/CMakeLists.txt lists {from_} before {to}"
    return None


def main():
    installed = installed_headers()
    order = {top: listed_folders(top) for top in ORDERED}
    seen, wrong = 0, 0
    for top in MAY_INCLUDE:
        for source in sorted(pathlib.Path(top).rglob("*")):
            if source.suffix not in (".h", ".cpp"):
                continue
            for name in INCLUDE.findall(source.read_text()):
                seen += 1
                included = installed.get(name, pathlib.Path(name))
                reason = complaint(source, included, order)
                if reason:
                    wrong += 1
                    print(f"{source}: #include of {name}: {reason}")
    if seen == 0:
        sys.exit("no #include found: is this the root of the repository?")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
