"""Writes the reference of ops and passes beside this file, from the descriptions in the .td files.

    cmake --build build/dev --target docs      writes them
    ctest --test-dir build/dev -R docs         fails if they are not current

Usage: generate.py MLIR_TBLGEN MLIR_INCLUDE_FOLDER [--check]
"""

import difflib
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def tblgen(command, td, *options):
    """What mlir-tblgen says of a .td file, without its leading comment and its site generator's marks."""
    text = subprocess.run(
        [*command, *options, str(td)], check=True, capture_output=True, text=True, cwd=ROOT
    ).stdout
    text = re.sub(r"<!--.*?-->|\[TOC\]", "", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def pages(command):
    """Name and text of each page: one a dialect, and one for all passes."""
    for td in sorted(ROOT.glob("dialect/*/*Ops.td")):
        name = re.search(r'let name = "(\w+)"', td.read_text()).group(1)
        text = tblgen(command, td.relative_to(ROOT), "-gen-dialect-doc", f"-dialect={name}")
        yield f"{name}.md", text.replace(f"# '{name}' Dialect", f"# The {name} dialect", 1)
    passes = "# Passes\n"
    for td in sorted(ROOT.glob("compiler/*/Passes.td")):
        folder = td.relative_to(ROOT).parent
        passes += f"\n## {folder}\n\n" + tblgen(command, td.relative_to(ROOT), "-gen-pass-doc")
    yield "passes.md", passes


def main():
    program, include, *rest = sys.argv[1:]
    check = rest == ["--check"]
    current = True
    for name, text in pages([program, "-I", include, "-I", "."]):
        path = HERE / name
        old = path.read_text() if path.exists() else ""
        if old == text:
            continue
        current = False
        if check:
            sys.stdout.writelines(
                difflib.unified_diff(
                    old.splitlines(True), text.splitlines(True), f"docs/reference/{name}", "generated"
                )
            )
        else:
            path.write_text(text)
            print(f"wrote docs/reference/{name}")
    if check and not current:
        sys.exit("docs/reference is not current; cmake --build build/dev --target docs writes it")


if __name__ == "__main__":
    main()
