"""Compares operations on AMX tiles in vector code with the instructions in assembly: tile-instructions.py
CODE.mlir CODE.s. A tile that is spilled or moved shows as loads and stores that nobody wrote."""
import re
import sys

code, assembly = (open(path).read() for path in sys.argv[1:])
for operation, instruction in [("tile_mulf", "tdpbf16ps"), ("tile_load", "tileloaddt?1?"),
                               ("tile_store", "tilestored"), ("tile_zero", "tilezero")]:
    written = len(re.findall(rf"amx\.{operation}\b", code))
    emitted = len(re.findall(rf"^\s+{instruction}\b", assembly, re.M))
    print(f"{operation}: {written} written, {emitted} emitted")
for function in re.split(r"^(?=\w+:)", assembly, flags=re.M):
    if "tdpbf16ps" in function:
        print(f"{function.split(':')[0]}: {len(re.findall(r'ldtilecfg', function))} ldtilecfg")
