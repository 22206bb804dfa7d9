import os

import lit.formats

config.name = "tilewright"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.environment["PATH"] = os.pathsep.join(
    [config.tools_dir, config.llvm_tools_dir, config.environment["PATH"]]
)
# So that tests compile, and leave alone what whoever runs them has cached and measured.
config.environment["TILEWRIGHT_CACHE_DIR"] = ""
config.environment["TILEWRIGHT_TUNING_FILE"] = ""
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input-filter=all"
config.substitutions.append(("%data", os.path.join(config.source_root, "examples", "data")))

if any(
    os.access(os.path.join(folder, "ptxas"), os.X_OK)
    for folder in os.environ["PATH"].split(os.pathsep)
    + [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")]
):
    config.available_features.add("ptxas")
