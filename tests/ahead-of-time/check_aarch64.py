"""Objects for AArch64 compute attention, on an emulator of one.

Usage: check_aarch64.py TILEWRIGHT FOLDER

attention.c holds their results against attention in f64. Where there is no cross compiler or no
emulator it says so.
"""

import pathlib
import shutil
import subprocess
import sys

PROCESSOR = "neoverse-v1"
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"

# Between them every dtype, heads that share keys, odd widths, and all that a score or a mask can
# read.
KERNELS = {
    "f32": dict(dims=(64, 64), options=[]),
    "f64": dict(dims=(24, 40), sees="k <= q && q - k < 50", give="arguments.scalar_window = 50;",
                options=["--preset", "sliding-window=50"]),
    "f16": dict(dims=(33, 33), score="3 * tanh(s / 3)", give="arguments.scalar_cap = 3;",
                options=["--preset", "softcap=3.0"]),
    "bf16": dict(dims=(128, 128), sees="k <= q", score="s + (double)slopes[h] * (k - q)",
                 give="arguments.tensor_slope.data = slopes;"
                      "arguments.tensor_slope.extents[0] = shape.heads;"
                      "arguments.tensor_slope.strides[0] = 1;",
                 options=["--preset", "causal", "--preset", "alibi", "--tensor", "slope=f32[?]"]),
}


def build(tilewright, folder, dtype, dims, options, sees="1", score="s", give=""):
    """The program that checks one kernel."""
    kernel, program = folder / f"{dtype}.o", folder / dtype
    width = ",".join(map(str, dims))
    subprocess.run([tilewright, "compile", "--dtype", dtype, "--head-dim", width, "--cpu", PROCESSOR,
                    "--name", "kernel", "-o", kernel, *options], check=True)
    subprocess.run([COMPILER, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-static",
                    f'-DHEADER="{kernel.with_suffix(".h")}"', f"-D{dtype.upper()}",
                    f"-DHEAD_DIM={dims[0]}", f"-DVALUE_DIM={dims[1]}", f"-DSEES(q, k)=({sees})",
                    f"-DSCORE(s)=({score})", f"-DGIVE={give}",
                    pathlib.Path(__file__).with_name("attention.c"), kernel, "-lm", "-o", program],
                   check=True)
    return program


def main():
    tilewright, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    missing = [name for name in (COMPILER, EMULATOR) if not shutil.which(name)]
    if missing:
        print(f"no AArch64: {' and '.join(missing)} not on PATH (Debian has them in "
              "gcc-aarch64-linux-gnu and qemu-user)")
        return
    folder.mkdir(parents=True, exist_ok=True)
    for dtype, kernel in KERNELS.items():
        print(dtype, flush=True)
        subprocess.run([EMULATOR, "-cpu", "max", build(tilewright, folder, dtype, **kernel)], check=True)
    print(f"attention for {PROCESSOR} is right in {', '.join(KERNELS)}")


if __name__ == "__main__":
    main()
