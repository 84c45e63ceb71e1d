"""Exports that the host calls, as the contract defines them. The conversion is in cards.py.

componentize-py generates the modules wit_world and componentize_py_types from wit/ during the build.
"""

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.convert import Format, Markdown
from wit_world.imports.types import Call, Fault, FaultKind, Manifest, Reply

import cards
import runtime

# What a function imports must be there before it runs.
runtime.load_imports_of(cards)


class Convert(exports.Convert):
    def formats(self) -> list[Format]:
        return [Format(one["name"], one["endings"], one["media_type"]) for one in cards.FORMATS]

    def convert(self, file: bytes, name: str, media_type: str) -> Markdown:
        try:
            return Markdown(*cards.markdown(file, name, media_type))
        except cards.NoText as reason:
            raise Err(Fault(FaultKind.INVALID_ARGUMENTS, str(reason), None, False)) from None


class Tools(exports.Tools):
    def describe(self, params: str) -> Manifest:
        no_params = '{"type": "object", "additionalProperties": false, "properties": {}}'
        return Manifest("{{name}}", "0.1.0", "Converts recipe cards to Markdown.", no_params, [])

    def call(self, call: Call) -> Reply:
        raise Err(Fault(FaultKind.NOT_FOUND, f"This gate has no tool '{call.tool}'.", None, False))
