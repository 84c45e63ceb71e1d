// The tools: what they take and give back. Nothing here knows of WebAssembly, so `make test` tests it as it is.
#pragma once

#include "json.h"

// Why a tool could not do it: the kinds of the contract that this gate uses.
enum failure { NONE, INVALID_ARGUMENTS, NOT_FOUND, DENIED, UNAVAILABLE };

// What a tool came to: text, and the same as data; or a failure with its message, and the next step as a hint.
struct outcome {
    enum failure failure;
    struct text text, data, message, hint;
};

// What a preset sets.
struct params {
    bool imperial;
    struct text default_city, service;
};

// Reads parameters, and fills in the default for what is not there.
struct params read_params(struct json params);

// Asks a URL. False where the host answered with a fault of its own: then the call is over.
typedef bool (*fetch_fn)(struct text url, int *status, struct text *body);

struct outcome forecast(struct json arguments, struct params params, fetch_fn fetch);
struct outcome convert(struct json arguments);
