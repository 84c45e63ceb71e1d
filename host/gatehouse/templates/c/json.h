// As much JSON as a gate needs: members of an object, and text that grows.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Bytes that grow. They may hold NUL, so the length counts. Nothing frees them: each call of a gate has a memory
// of its own, which is gone when the call is over.
struct text {
    char *ptr;
    size_t len, room;
};

void add(struct text *to, const char *bytes, size_t len);
void say(struct text *to, const char *words);
// As printf does; at most 400 bytes at once.
void say_format(struct text *to, const char *format, ...);
// In quotes, as JSON writes a string.
void say_json(struct text *to, struct text string);

// A value inside a document, as it stands there. `ptr` is NULL where there is none.
struct json {
    const char *ptr;
    size_t len;
};

// The member of this name; none where the document is no object or has no such member.
struct json json_member(struct json object, const char *name);
// Whether the value is a string, and which.
bool json_string(struct json value, struct text *string);
// Whether the value is a number, and which.
bool json_number(struct json value, double *number);
// Whether the bytes are UTF-8; the host takes no other strings.
bool is_utf8(const char *bytes, size_t len);
