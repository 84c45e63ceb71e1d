"""What the host calls: the two exports of the contract. The tools themselves are in weather.py.

componentize-py makes the modules wit_world and componentize_py_types out of wit/ while it builds.
"""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import http
from wit_world.imports.types import Call, Content_Text, Effect, Fault, FaultKind, Intent, Manifest, Reply, Tool

import weather


class Tools(exports.Tools):
    def describe(self, params: str) -> Manifest:
        # Must be pure: the same parameters give the same bytes. The host checks them against the schema.
        given = {**weather.DEFAULTS, **json.loads(params)}
        return Manifest(
            name="{{name}}",
            version="0.1.0",
            summary="The weather, and its numbers on two scales.",
            params_schema=json.dumps(weather.PARAMS_SCHEMA),
            tools=[
                Tool(
                    name=tool["name"],
                    title=tool["title"],
                    description=tool["description"](given),
                    input_schema=json.dumps(tool["input"]),
                    output_schema=json.dumps(tool["output"]),
                    intent=Intent.QUERY,
                    effect=Effect.READ_ONLY,
                    idempotent=True,
                    open_world=tool["open_world"],
                    dry_run=None,
                    additive=False,
                    meta=None,
                    icons=[],
                )
                for tool in weather.TOOLS
            ],
        )

    def call(self, call: Call) -> Reply:
        # The arguments match the tool's schema already, and the parameters have the defaults filled in.
        tool = next((tool for tool in weather.TOOLS if tool["name"] == call.tool), None)
        if tool is None:
            raise Err(Fault(FaultKind.NOT_FOUND, f"This gate has no tool '{call.tool}'.", None, False))
        try:
            text, data = tool["run"](json.loads(call.arguments), json.loads(call.params), fetch)
        except weather.Failure as failure:
            kind = FaultKind[failure.kind]
            raise Err(Fault(kind, failure.message, failure.hint, kind == FaultKind.UNAVAILABLE))
        return Reply([Content_Text(text)], json.dumps(data), False, None)


def fetch(url: str) -> tuple[int, bytes]:
    """Asks through the host. Its own faults (not granted, not reachable, too slow) end the call as they are."""
    response = http.fetch(http.Request("GET", url, [http.Header("Accept", "application/json")], None, 10_000))
    return response.status, response.body
