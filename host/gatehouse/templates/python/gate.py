"""Exports that the host calls, as the contract defines them. The tools are in weather.py.

componentize-py generates the modules wit_world and componentize_py_types from wit/ during the build.
"""

import functools
import json
import os

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import http
from wit_world.imports.types import Call, Content_Text, Effect, Fault, FaultKind, Intent, Manifest, Reply, Tool

import runtime
import weather

# What a function imports must be there before it runs.
runtime.load_imports_of(weather)

#: The intent for each effect. Hosts use it for timeouts and retries.
INTENTS = {Effect.READ_ONLY: Intent.QUERY, Effect.MUTATING: Intent.MODIFY, Effect.EXTERNAL_EXEC: Intent.EXECUTE}

#: Limits for the part of an exception that a fault includes.
MAX_FRAMES, MAX_MESSAGE = 3, 500


def faults(export):
    """Turns an unexpected exception into a fault with its message and location, innermost frame first."""

    @functools.wraps(export)
    def guarded(self, given):
        try:
            return export(self, given)
        except Err:
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {error}".rstrip(".: ")[:MAX_MESSAGE]
            places, frame = [], error.__traceback__.tb_next
            while frame:
                code = frame.tb_frame.f_code
                places.insert(0, f"{os.path.basename(code.co_filename)}:{frame.tb_lineno} in {code.co_name}")
                frame = frame.tb_next
            message = f"gate '{{name}}' failed: {what}, at {', '.join(places[:MAX_FRAMES])}"
            raise Err(Fault(FaultKind.INTERNAL, message, "This is a bug in the gate.", False)) from None

    return guarded


def effect_of(tool: dict) -> Effect:
    names = [effect.name for effect in Effect]
    if tool.get("effect") in names:
        return Effect[tool["effect"]]
    hint = f"Add \"effect\" to its entry in weather.py: {', '.join(names[:-1])} or {names[-1]}."
    raise Err(Fault(FaultKind.INTERNAL, f"Tool '{tool['name']}' does not state its effect.", hint, False))


class Tools(exports.Tools):
    @faults
    def describe(self, params: str) -> Manifest:
        # Must be pure: equal parameters give equal bytes. The host checks parameters against the schema.
        given = {**weather.DEFAULTS, **json.loads(params)}
        return Manifest(
            name="{{name}}",
            version="0.1.0",
            summary="Weather forecasts and temperature conversion.",
            params_schema=json.dumps(weather.PARAMS_SCHEMA),
            tools=[
                Tool(
                    name=tool["name"],
                    title=tool["title"],
                    description=tool["description"](given),
                    input_schema=json.dumps(tool["input"]),
                    output_schema=json.dumps(tool["output"]),
                    intent=INTENTS[effect_of(tool)],
                    effect=effect_of(tool),
                    idempotent=tool["idempotent"],
                    open_world=tool["open_world"],
                    dry_run=None,
                    additive=False,
                    meta=None,
                    icons=[],
                )
                for tool in weather.TOOLS
            ],
        )

    @faults
    def call(self, call: Call) -> Reply:
        # The host has checked the arguments against the tool's schema and filled in default parameters.
        tool = next((tool for tool in weather.TOOLS if tool["name"] == call.tool), None)
        if tool is None:
            raise Err(Fault(FaultKind.NOT_FOUND, f"This gate has no tool '{call.tool}'.", None, False))
        try:
            text, data = tool["run"](json.loads(call.arguments), json.loads(call.params), fetch)
        except weather.Failure as failure:
            kind = FaultKind[failure.kind]
            raise Err(Fault(kind, failure.message, failure.hint, kind == FaultKind.UNAVAILABLE))
        return Reply([Content_Text(text)], runtime.to_json(data), False, None)


def fetch(url: str) -> tuple[int, bytes]:
    """Sends a request through the host. Faults of the host (not granted, unreachable, too slow) end the call."""
    response = http.fetch(http.Request("GET", url, [http.Header("Accept", "application/json")], None, 10_000))
    return response.status, response.body
