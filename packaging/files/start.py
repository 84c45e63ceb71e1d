"""Starts gatehouse, a native program installed next to this package."""

import os
import sys
import sysconfig


def start() -> None:
    """Replaces this process with gatehouse, so that streams, signals and exit code are its own."""
    places = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"), os.path.dirname(sys.argv[0])]
    for folder in places:
        program = os.path.join(folder, "gatehouse")
        if os.path.isfile(program):
            os.execv(program, [program, *sys.argv[1:]])
    sys.exit(f"gatehouse not found in {', '.join(places)}: reinstall gatehouse-mcp")
