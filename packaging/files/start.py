"""Starts gatehouse, which is a native program and was installed beside this package."""

import os
import sys
import sysconfig


def start() -> None:
    """Puts gatehouse in the place of this process, so that streams, signals and exit code are its own."""
    places = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"), os.path.dirname(sys.argv[0])]
    for folder in places:
        program = os.path.join(folder, "gatehouse")
        if os.path.isfile(program):
            os.execv(program, [program, *sys.argv[1:]])
    sys.exit(f"gatehouse is in none of {', '.join(places)}: install gatehouse-mcp again")
