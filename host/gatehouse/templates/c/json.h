// Minimal JSON support: object members and growable text.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// A growable buffer, not NUL-terminated, because it may contain NUL. It is never freed: each call of a gate has its own
// memory, which is discarded after the call.
struct text {
    char *ptr;
    size_t len, room;
};

void add(struct text *to, const char *bytes, size_t len);
void say(struct text *to, const char *words);
// Appends like printf, at most 399 bytes per call.
void say_format(struct text *to, const char *format, ...);
// Appends a JSON string with quotes and escapes.
void say_json(struct text *to, struct text string);

// Source text of a value in a document. `ptr` is NULL if the value is missing.
struct json {
    const char *ptr;
    size_t len;
};

// Returns the member with this name. NULL if the document is not an object or has no such member.
struct json json_member(struct json object, const char *name);
// Decodes a string. Returns false if the value is not a string.
bool json_string(struct json value, struct text *string);
// Decodes a number. Returns false if the value is not a number.
bool json_number(struct json value, double *number);
// Returns true if the bytes are UTF-8; the host accepts no other strings.
bool is_utf8(const char *bytes, size_t len);
