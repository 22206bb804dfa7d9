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
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input-filter=all"
config.substitutions.append(("%data", os.path.join(config.source_root, "examples", "data")))
