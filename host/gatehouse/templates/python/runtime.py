"""What Python needs inside a component: modules that it loads late, event loops without sockets, and strict JSON.

A build runs the modules once and keeps their state. Later there are no files, so everything to import must be imported
during the build.
"""

import ast
import asyncio
import encodings
import importlib
import io
import json
import pkgutil
import selectors
import time
import zoneinfo

#: Modules that the standard library imports when a function is called.
LATE = ["_strptime", "calendar", "datetime", "decimal", "importlib.resources", "locale", "stringprep", "unicodedata"]


def load(name: str) -> bool:
    try:
        importlib.import_module(name)
        return True
    except Exception:  # A module for another platform.
        return False


def load_imports_of(module):
    """Imports what the functions of a module import."""
    with open(module.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                load(alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0 and load(node.module):
            for alias in node.names:
                load(f"{node.module}.{alias.name}")


class SleepingSelector(selectors._BaseSelectorImpl):
    """Waits for timers only, because a component has no sockets."""

    def select(self, timeout=None):
        if timeout is not None and timeout > 0:
            time.sleep(timeout)
        return []


class EventLoop(asyncio.SelectorEventLoop):
    def __init__(self):
        super().__init__(SleepingSelector())

    def _make_self_pipe(self):
        pass

    def _close_self_pipe(self):
        pass

    def _write_to_self(self):
        pass


def load_zones() -> dict:
    """Reads the time zones of the package tzdata, if requirements.txt names it."""
    zones = {}
    try:
        from importlib import resources

        for key in zoneinfo.available_timezones():
            zones[key] = resources.files("tzdata.zoneinfo").joinpath(*key.split("/")).read_bytes()
    except (ImportError, OSError):
        pass
    return zones


def load_zone(key):
    if key in ZONES:
        return io.BytesIO(ZONES[key])
    hint = "" if ZONES else "; add tzdata to requirements.txt, install it, and build again"
    raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}{hint}")


def to_json(value) -> str:
    """Writes JSON. NaN and infinities, which JSON does not have, are an error."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise ValueError(f"{error}: the result has NaN or an infinity, which JSON does not have") from None


for name in LATE + [f"encodings.{module.name}" for module in pkgutil.iter_modules(encodings.__path__)]:
    load(name)
asyncio.events.new_event_loop = asyncio.new_event_loop = EventLoop
ZONES = load_zones()
zoneinfo._common.load_tzdata = load_zone
