"""peak_memory.py COMMAND...: runs the command and prints the most memory it had resident, in bytes."""

import resource
import subprocess
import sys

subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
