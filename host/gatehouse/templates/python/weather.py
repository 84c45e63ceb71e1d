"""The tools: names, schemas and code.

Nothing here depends on WebAssembly, so `python3 -m unittest` can test this file directly.
"""

import json
from urllib.parse import quote

ABSOLUTE_ZERO = -273.15
UNITS = {"metric": "°C", "imperial": "°F"}

#: Parameters that a preset may set, with their defaults.
PARAMS_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "units": {
            "type": "string",
            "enum": list(UNITS),
            "default": "metric",
            "description": "Temperature scale: metric for Celsius, imperial for Fahrenheit.",
        },
        "default_city": {
            "type": "string",
            "minLength": 1,
            "default": "Berlin",
            "description": "City of a forecast if the call names none.",
        },
        "service": {
            "type": "string",
            "default": "https://api.weather.example",
            "description": "URL of the weather service; presets.toml must allow its host.",
        },
    },
}
DEFAULTS = {name: schema["default"] for name, schema in PARAMS_SCHEMA["properties"].items()}


class Failure(Exception):
    """A tool's failure: the kind of fault, a message, and the next step."""

    def __init__(self, kind: str, message: str, hint: str | None = None):
        super().__init__(message)
        self.kind, self.message, self.hint = kind, message, hint


def forecast(arguments, params, fetch):
    city = arguments.get("city", params["default_city"])
    status, body = fetch(f"{params['service']}/v1/now?city={quote(city, safe='')}")
    if status == 404:
        raise Failure("NOT_FOUND", f"The weather service does not know the city '{city}'.", "Check the spelling.")
    if status in (401, 403):
        raise Failure("DENIED", "The weather service refused the gate's credentials.",
                      "Check the header under [gates.{{name}}.http] in presets.toml.")
    if status != 200:
        raise Failure("UNAVAILABLE", f"The weather service answered with status {status}.")
    try:
        report = json.loads(body)
        sky, celsius = str(report["sky"]), float(report["celsius"])
    except (ValueError, TypeError, KeyError):
        raise Failure("UNAVAILABLE", "The weather service sent an invalid weather report.") from None
    temperature = round(celsius if params["units"] == "metric" else fahrenheit(celsius), 1)
    unit = UNITS[params["units"]]
    data = {"city": city, "sky": sky, "temperature": temperature, "unit": unit}
    return f"{city}: {sky}, {temperature:.1f} {unit}", data


def convert(arguments, params, fetch):
    celsius = arguments["celsius"]
    if celsius < ABSOLUTE_ZERO:
        raise Failure("INVALID_ARGUMENTS", f"Nothing is colder than {ABSOLUTE_ZERO} °C.", "Check the sign.")
    data = {"celsius": celsius, "fahrenheit": round(fahrenheit(celsius), 1)}
    return f"{celsius:.1f} °C is {data['fahrenheit']:.1f} °F.", data


def fahrenheit(celsius: float) -> float:
    return celsius * 9 / 5 + 32


#: The table of tools. Descriptions may mention the preset's parameters. `run` returns text and the same answer as data.
#:
#: Each tool states its strongest effect, which clients and presets use to decide what needs approval: READ_ONLY changes
#: nothing, MUTATING changes data that the host stores or was given, EXTERNAL_EXEC sends, runs or changes something
#: outside. `idempotent`: repeating a call has no further effect, so hosts may retry. `open_world`: the tool accesses
#: systems outside the host, such as the web.
TOOLS = [
    {
        "name": "forecast",
        "title": "Forecast",
        "description": lambda params: (
            "Returns the current weather in a city: the sky, and the temperature in "
            f"{UNITS[params['units']]}. The default city is {params['default_city']}."
        ),
        "input": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "city": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 80,
                    "description": "City, for example Oslo.",
                },
            },
        },
        "output": {
            "type": "object",
            "required": ["city", "sky", "temperature", "unit"],
            "properties": {
                "city": {"type": "string"},
                "sky": {"type": "string"},
                "temperature": {"type": "number"},
                "unit": {"type": "string", "enum": list(UNITS.values())},
            },
        },
        "effect": "READ_ONLY",
        "idempotent": True,
        "open_world": True,
        "run": forecast,
    },
    {
        "name": "convert",
        "title": "Convert",
        "description": lambda params: "Converts a temperature from Celsius to Fahrenheit.",
        "input": {
            "type": "object",
            "additionalProperties": False,
            "required": ["celsius"],
            "properties": {
                "celsius": {"type": "number", "maximum": 1_000_000, "description": "Degrees Celsius."},
            },
        },
        "output": {
            "type": "object",
            "required": ["celsius", "fahrenheit"],
            "properties": {"celsius": {"type": "number"}, "fahrenheit": {"type": "number"}},
        },
        "effect": "READ_ONLY",
        "idempotent": True,
        "open_world": False,
        "run": convert,
    },
]
