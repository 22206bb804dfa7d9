"""Compares operations on AMX tiles in vector code with the instructions in assembly: tile-instructions.py
CODE.mlir CODE.s. A tile that is spilled or moved shows as loads and stores that nobody wrote. Of straight
code with products and exponentials, tells how finely they alternate, the most tile instructions in a row and
the most exponentials, and how many vectors llc says that it spills."""
import re
import sys

code, assembly = (open(path).read() for path in sys.argv[1:])
for operation, instruction in [("tile_mulf", "tdpbf16ps"), ("tile_load", "tileloaddt?1?"),
                               ("tile_store", "tilestored"), ("tile_zero", "tilezero")]:
    written = len(re.findall(rf"amx\.{operation}\b", code))
    emitted = len(re.findall(rf"^\s+{instruction}\b", assembly, re.M))
    print(f"{operation}: {written} written, {emitted} emitted")
for function in re.split(r"^(?=\w+:)", assembly, flags=re.M):
    if "tdpbf16ps" not in function:
        continue
    print(f"{function.split(':')[0]}: {len(re.findall(r'ldtilecfg', function))} ldtilecfg")
    for block in re.split(r"^\.L\w+:|^\s+j\w+\s", function, flags=re.M):
        if "tdpbf16ps" not in block or "vscalefps" not in block:
            continue
        kinds = "".join("t" if name.startswith("t") else "e" for name in
                        re.findall(r"^\s+(tdpbf16ps|tileload|tilestored|tilezero|vscalefps)", block, re.M))
        print(f"woven: {block.count('tdpbf16ps')} products, {kinds.count('e')} exponentials, "
              f"{len(re.findall('64-byte (?:Folded )?(?:Spill|Reload)', block))} spilled vectors, "
              f"at most {max(map(len, re.findall('t+', kinds)))} and "
              f"{max(map(len, re.findall('e+', kinds)))} in a row")
