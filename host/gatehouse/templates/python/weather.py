"""The tools: what they are called, what they take and give back, and what they do.

Nothing here knows of WebAssembly, so `python3 -m unittest` tests it as it is.
"""

import json
from urllib.parse import quote

ABSOLUTE_ZERO = -273.15
UNITS = {"metric": "°C", "imperial": "°F"}

#: What a preset may set, each with its default.
PARAMS_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "units": {
            "type": "string",
            "enum": list(UNITS),
            "default": "metric",
            "description": "The scale of temperatures: metric for Celsius, imperial for Fahrenheit.",
        },
        "default_city": {
            "type": "string",
            "minLength": 1,
            "default": "Berlin",
            "description": "The city that a forecast is for when the call names none.",
        },
        "service": {
            "type": "string",
            "default": "https://api.weather.example",
            "description": "Where the weather service is; presets.toml has to allow its host.",
        },
    },
}
DEFAULTS = {name: schema["default"] for name, schema in PARAMS_SCHEMA["properties"].items()}


class Failure(Exception):
    """Why a tool could not do it: a kind of the contract, what happened, and the next step."""

    def __init__(self, kind: str, message: str, hint: str | None = None):
        super().__init__(message)
        self.kind, self.message, self.hint = kind, message, hint


def forecast(arguments, params, fetch):
    city = arguments.get("city", params["default_city"])
    status, body = fetch(f"{params['service']}/v1/now?city={quote(city, safe='')}")
    if status == 404:
        raise Failure("NOT_FOUND", f"The weather service knows no city '{city}'.", "Check how it is spelt.")
    if status in (401, 403):
        raise Failure("DENIED", "The weather service refused the gate's credentials.",
                      "Check the header under [gates.{{name}}.http] in presets.toml.")
    if status != 200:
        raise Failure("UNAVAILABLE", f"The weather service answered with status {status}.")
    try:
        report = json.loads(body)
        sky, celsius = str(report["sky"]), float(report["celsius"])
    except (ValueError, TypeError, KeyError):
        raise Failure("UNAVAILABLE", "The weather service sent something that is not a weather report.") from None
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


#: The table of tools. A description may tell the preset's parameters; `run` gives text, and the same as data.
#:
#: Every tool states what it may do to the world at most, because clients ask people by it, and presets allow by it:
#: READ_ONLY changes nothing, MUTATING changes what the host keeps or was given, EXTERNAL_EXEC sends, runs or changes
#: something outside. `idempotent`: calling it twice is the same as calling it once, so hosts may repeat it.
#: `open_world`: it reaches beyond what the host keeps, the web for example.
TOOLS = [
    {
        "name": "forecast",
        "title": "Forecast",
        "description": lambda params: (
            "What the weather is like in a city right now: the sky, and the temperature in "
            f"{UNITS[params['units']]}. Without a city it is {params['default_city']}."
        ),
        "input": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "city": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 80,
                    "description": "The city, for example Oslo.",
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
        "description": lambda params: "Changes a temperature from Celsius to Fahrenheit.",
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
