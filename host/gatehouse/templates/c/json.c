#include "json.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void add(struct text *to, const char *bytes, size_t len) {
    if (to->len + len > to->room) {
        to->room = (to->len + len) * 2;
        to->ptr = realloc(to->ptr, to->room);
        if (to->ptr == NULL) abort();
    }
    if (len > 0) memcpy(to->ptr + to->len, bytes, len);
    to->len += len;
}

void say(struct text *to, const char *words) {
    add(to, words, strlen(words));
}

void say_format(struct text *to, const char *format, ...) {
    char words[400];
    va_list values;
    va_start(values, format);
    vsnprintf(words, sizeof words, format, values);
    va_end(values);
    say(to, words);
}

void say_json(struct text *to, struct text string) {
    say(to, "\"");
    for (size_t i = 0; i < string.len; i++) {
        unsigned char c = string.ptr[i];
        if (c == '"' || c == '\\') say_format(to, "\\%c", c);
        else if (c < 0x20) say_format(to, "\\u%04x", c);
        else add(to, &string.ptr[i], 1);
    }
    say(to, "\"");
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_space(struct json in, size_t at) {
    while (at < in.len && is_space(in.ptr[at])) at++;
    return at;
}

// Returns the position after the string that starts at `at`.
static size_t skip_string(struct json in, size_t at) {
    for (at++; at < in.len && in.ptr[at] != '"'; at++) {
        if (in.ptr[at] == '\\') at++;
    }
    return at < in.len ? at + 1 : in.len;
}

// Returns the position after the value that starts at `at`.
static size_t skip_value(struct json in, size_t at) {
    size_t depth = 0;
    while (at < in.len) {
        char c = in.ptr[at];
        if (c == '"') {
            at = skip_string(in, at);
            if (depth == 0) return at;
            continue;
        }
        if (c == '{' || c == '[') depth++;
        if (c == '}' || c == ']') {
            if (depth == 0) return at;
            if (--depth == 0) return at + 1;
        }
        if (depth == 0 && (c == ',' || is_space(c))) return at;
        at++;
    }
    return at;
}

struct json json_member(struct json object, const char *name) {
    struct json none = {NULL, 0};
    size_t at = skip_space(object, 0);
    if (at >= object.len || object.ptr[at] != '{') return none;
    at = skip_space(object, at + 1);
    while (at < object.len && object.ptr[at] == '"') {
        size_t key = at + 1, key_end = skip_string(object, at);
        at = skip_space(object, key_end);
        if (at >= object.len || object.ptr[at] != ':') return none;
        at = skip_space(object, at + 1);
        size_t end = skip_value(object, at);
        // Names in the schemas need no escapes, so escaped names never match.
        if (key_end - 1 - key == strlen(name) && memcmp(object.ptr + key, name, strlen(name)) == 0) {
            return (struct json){object.ptr + at, end - at};
        }
        at = skip_space(object, end);
        if (at >= object.len || object.ptr[at] != ',') return none;
        at = skip_space(object, at + 1);
    }
    return none;
}

static void add_code_point(struct text *to, uint32_t c) {
    if (c >= 0xD800 && c < 0xE000) c = 0xFFFD; // Lone surrogate.
    unsigned char utf8[4];
    size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = len; i-- > 0; c >>= 6) utf8[i] = i == 0 ? (lead[len] | c) : (0x80 | (c & 0x3F));
    add(to, (char *)utf8, len);
}

// Parses the four digits after `\u`.
static bool hex4(struct json in, size_t at, uint32_t *number) {
    if (at + 4 > in.len) return false;
    *number = 0;
    for (size_t i = at; i < at + 4; i++) {
        const char *digits = "0123456789abcdef", c = in.ptr[i] | 0x20;
        const char *digit = memchr(digits, c, 16);
        if (digit == NULL) return false;
        *number = *number * 16 + (uint32_t)(digit - digits);
    }
    return true;
}

bool json_string(struct json value, struct text *string) {
    *string = (struct text){0};
    if (value.ptr == NULL || value.len < 2 || value.ptr[0] != '"' || value.ptr[value.len - 1] != '"') return false;
    struct json in = {value.ptr, value.len - 1};
    for (size_t at = 1; at < in.len; at++) {
        if (in.ptr[at] != '\\') {
            add(string, in.ptr + at, 1);
            continue;
        }
        if (++at >= in.len) return false;
        static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        const char *name = memchr(names, in.ptr[at], sizeof names - 1);
        if (name != NULL) {
            add(string, &meanings[name - names], 1);
            continue;
        }
        uint32_t c, low;
        if (in.ptr[at] != 'u' || !hex4(in, at + 1, &c)) return false;
        at += 4;
        if (c >= 0xD800 && c < 0xDC00 && at + 2 < in.len && in.ptr[at + 1] == '\\' && in.ptr[at + 2] == 'u' &&
            hex4(in, at + 3, &low) && low >= 0xDC00 && low < 0xE000) {
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
            at += 6;
        }
        add_code_point(string, c);
    }
    return true;
}

bool json_number(struct json value, double *number) {
    if (value.ptr == NULL || value.len == 0 || value.len > 400) return false;
    if (value.ptr[0] != '-' && (value.ptr[0] < '0' || value.ptr[0] > '9')) return false;
    char digits[401], *end;
    memcpy(digits, value.ptr, value.len);
    digits[value.len] = '\0';
    *number = strtod(digits, &end);
    return end == digits + value.len;
}

bool is_utf8(const char *bytes, size_t len) {
    for (size_t at = 0; at < len;) {
        unsigned char lead = bytes[at++];
        size_t more = lead < 0x80 ? 0 : lead < 0xC2 ? 9 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : lead < 0xF5 ? 3 : 9;
        if (more > len - at) return false;
        unsigned char second = more > 0 ? bytes[at] : 0x80;
        // Overlong, a surrogate, or beyond U+10FFFF.
        if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return false;
        if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return false;
        for (; more > 0; more--, at++) {
            if (((unsigned char)bytes[at] & 0xC0) != 0x80) return false;
        }
    }
    return true;
}
