// Exports that the host calls, as the contract defines them. The tools are in weather.c.
//
// `gatehouse gates build` generates project.h and project.c from wit/: types and functions of the contract, with WIT
// names in snake case. The generated code frees returned values, so they must be on the heap.

#include <stdlib.h>
#include <string.h>

#include "project.h"
#include "weather.h"

static project_string_t string(const char *words) {
    project_string_t copy;
    project_string_dup(&copy, words);
    return copy;
}

static project_string_t given(struct text text) {
    return (project_string_t){(uint8_t *)text.ptr, text.len};
}

static project_option_string_t maybe(struct text text) {
    return (project_option_string_t){text.len > 0, given(text)};
}

// Converts JSON that is written with ' instead of " for readability.
static project_string_t json(const char *words) {
    project_string_t copy = string(words);
    for (size_t i = 0; i < copy.len; i++) {
        if (copy.ptr[i] == '\'') copy.ptr[i] = '"';
    }
    return copy;
}

static const char PARAMS[] =
    "{'type': 'object', 'additionalProperties': false, 'properties': {"
    "  'units': {'type': 'string', 'enum': ['metric', 'imperial'], 'default': 'metric',"
    "    'description': 'Temperature scale: metric for Celsius, imperial for Fahrenheit.'},"
    "  'default_city': {'type': 'string', 'minLength': 1, 'default': 'Berlin',"
    "    'description': 'City of a forecast if the call names none.'},"
    "  'service': {'type': 'string', 'default': 'https://api.weather.example',"
    "    'description': 'URL of the weather service; presets.toml must allow its host.'}}}";

static const char FORECAST_INPUT[] =
    "{'type': 'object', 'additionalProperties': false, 'properties': {"
    "  'city': {'type': 'string', 'minLength': 1, 'maxLength': 80, 'description': 'City, for example Oslo.'}}}";

static const char FORECAST_OUTPUT[] =
    "{'type': 'object', 'required': ['city', 'sky', 'temperature', 'unit'], 'properties': {"
    "  'city': {'type': 'string'}, 'sky': {'type': 'string'}, 'temperature': {'type': 'number'},"
    "  'unit': {'type': 'string', 'enum': ['°C', '°F']}}}";

static const char CONVERT_INPUT[] =
    "{'type': 'object', 'additionalProperties': false, 'required': ['celsius'], 'properties': {"
    "  'celsius': {'type': 'number', 'maximum': 1000000, 'description': 'Degrees Celsius.'}}}";

static const char CONVERT_OUTPUT[] =
    "{'type': 'object', 'required': ['celsius', 'fahrenheit'], 'properties': {"
    "  'celsius': {'type': 'number'}, 'fahrenheit': {'type': 'number'}}}";

// Strongest effect of a tool, which clients and presets use to decide what needs approval. READS changes nothing,
// CHANGES changes data that the host stores or was given, ACTS sends, runs or changes something outside.
enum effect { READS, CHANGES, ACTS };

static const struct {
    gatehouse_gate_types_effect_t effect;
    gatehouse_gate_types_intent_t intent;
} effects[] = {
    [READS] = {GATEHOUSE_GATE_TYPES_EFFECT_READ_ONLY, GATEHOUSE_GATE_TYPES_INTENT_QUERY},
    [CHANGES] = {GATEHOUSE_GATE_TYPES_EFFECT_MUTATING, GATEHOUSE_GATE_TYPES_INTENT_MODIFY},
    [ACTS] = {GATEHOUSE_GATE_TYPES_EFFECT_EXTERNAL_EXEC, GATEHOUSE_GATE_TYPES_INTENT_EXECUTE},
};

// `idempotent`: repeating a call has no further effect, so hosts may retry. `open_world`: the tool accesses systems
// outside the host, such as the web.
static gatehouse_gate_types_tool_t tool(const char *name, const char *title, struct text description,
                                        const char *input, const char *output, enum effect effect,
                                        bool idempotent, bool open_world) {
    return (gatehouse_gate_types_tool_t){
        .name = string(name),
        .title = {true, string(title)},
        .description = given(description),
        .input_schema = json(input),
        .output_schema = {true, json(output)},
        .intent = effects[effect].intent,
        .effect = effects[effect].effect,
        .idempotent = idempotent,
        .open_world = open_world,
        .dry_run = {false},
        .additive = false,
        .meta = {false},
        .icons = {NULL, 0},
    };
}

// Must be pure: equal parameters give equal bytes. The host checks parameters against the schema.
bool exports_gatehouse_gate_tools_describe(exports_gatehouse_gate_tools_json_t *params,
                                           exports_gatehouse_gate_tools_manifest_t *manifest,
                                           exports_gatehouse_gate_tools_fault_t *fault) {
    (void)fault;
    struct params set = read_params((struct json){(char *)params->ptr, params->len});
    struct text about_forecast = {0}, about_convert = {0};
    say(&about_forecast, "Returns the current weather in a city: the sky, and the temperature in ");
    say(&about_forecast, set.imperial ? "°F" : "°C");
    say(&about_forecast, ". The default city is ");
    add(&about_forecast, set.default_city.ptr, set.default_city.len);
    say(&about_forecast, ".");
    say(&about_convert, "Converts a temperature from Celsius to Fahrenheit.");

    gatehouse_gate_types_tool_t *tools = malloc(2 * sizeof *tools);
    tools[0] = tool("forecast", "Forecast", about_forecast, FORECAST_INPUT, FORECAST_OUTPUT, READS, true, true);
    tools[1] = tool("convert", "Convert", about_convert, CONVERT_INPUT, CONVERT_OUTPUT, READS, true, false);
    *manifest = (exports_gatehouse_gate_tools_manifest_t){
        .name = string("{{name}}"),
        .version = string("0.1.0"),
        .summary = string("Weather forecasts and temperature conversion."),
        .params_schema = json(PARAMS),
        .tools = {tools, 2},
    };
    return true;
}

// Stores a fault of the host (not granted, unreachable, too slow), which ends the call.
static gatehouse_gate_http_fault_t host_fault;

static bool fetch(struct text url, int *status, struct text *body) {
    gatehouse_gate_http_header_t *accept = malloc(sizeof *accept);
    *accept = (gatehouse_gate_http_header_t){string("Accept"), string("application/json")};
    gatehouse_gate_http_request_t request = {
        .method = string("GET"),
        .url = given(url),
        .headers = {accept, 1},
        .body = {false},
        .timeout_ms = {true, 10000},
    };
    gatehouse_gate_http_response_t response;
    if (!gatehouse_gate_http_fetch(&request, &response, &host_fault)) return false;
    *status = response.status;
    *body = (struct text){(char *)response.body.ptr, response.body.len, response.body.len};
    return true;
}

// The host has checked the arguments against the tool's schema and filled in default parameters.
bool exports_gatehouse_gate_tools_call(exports_gatehouse_gate_tools_tool_call_t *call,
                                       exports_gatehouse_gate_tools_reply_t *reply,
                                       exports_gatehouse_gate_tools_fault_t *fault) {
    struct json arguments = {(char *)call->arguments.ptr, call->arguments.len};
    struct params params = read_params((struct json){(char *)call->params.ptr, call->params.len});
    struct outcome outcome = {.failure = NOT_FOUND};
    if (call->tool.len == 8 && memcmp(call->tool.ptr, "forecast", 8) == 0) {
        outcome = forecast(arguments, params, fetch);
        if (outcome.failure != NONE && outcome.message.len == 0) {
            *fault = host_fault;
            return false;
        }
    } else if (call->tool.len == 7 && memcmp(call->tool.ptr, "convert", 7) == 0) {
        outcome = convert(arguments);
    } else {
        say(&outcome.message, "This gate has no such tool.");
    }

    static const gatehouse_gate_types_fault_kind_t kinds[] = {
        [INVALID_ARGUMENTS] = GATEHOUSE_GATE_TYPES_FAULT_KIND_INVALID_ARGUMENTS,
        [NOT_FOUND] = GATEHOUSE_GATE_TYPES_FAULT_KIND_NOT_FOUND,
        [DENIED] = GATEHOUSE_GATE_TYPES_FAULT_KIND_DENIED,
        [UNAVAILABLE] = GATEHOUSE_GATE_TYPES_FAULT_KIND_UNAVAILABLE,
    };
    if (outcome.failure != NONE) {
        *fault = (exports_gatehouse_gate_tools_fault_t){
            kinds[outcome.failure], given(outcome.message), maybe(outcome.hint), outcome.failure == UNAVAILABLE};
        return false;
    }
    gatehouse_gate_types_content_t *content = malloc(sizeof *content);
    content->tag = GATEHOUSE_GATE_TYPES_CONTENT_TEXT;
    content->val.text = given(outcome.text);
    *reply = (exports_gatehouse_gate_tools_reply_t){
        .content = {content, 1},
        .structured = {true, given(outcome.data)},
        .is_error = false,
        .meta = {false},
    };
    return true;
}
