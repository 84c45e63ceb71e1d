// The tools. Nothing here depends on WebAssembly, so `make test` can test them directly.
#pragma once

#include "json.h"

// The kinds of fault that this gate uses.
enum failure { NONE, INVALID_ARGUMENTS, NOT_FOUND, DENIED, UNAVAILABLE };

// Result of a tool: text and the same answer as data, or a failure with a message and a hint.
struct outcome {
    enum failure failure;
    struct text text, data, message, hint;
};

// Parameters of the preset.
struct params {
    bool imperial;
    struct text default_city, service;
};

// Reads parameters and fills in defaults.
struct params read_params(struct json params);

// Sends a GET request. Returns false after a fault of the host, which ends the call.
typedef bool (*fetch_fn)(struct text url, int *status, struct text *body);

struct outcome forecast(struct json arguments, struct params params, fetch_fn fetch);
struct outcome convert(struct json arguments);
