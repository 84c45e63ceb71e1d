#include "weather.h"

#include <math.h>

static const double ABSOLUTE_ZERO = -273.15;

static struct text string_or(struct json value, const char *otherwise) {
    struct text string;
    if (!json_string(value, &string)) say(&string, otherwise);
    return string;
}

struct params read_params(struct json params) {
    struct text units = string_or(json_member(params, "units"), "metric");
    return (struct params){
        .imperial = units.len > 0 && units.ptr[0] == 'i',
        .default_city = string_or(json_member(params, "default_city"), "Berlin"),
        .service = string_or(json_member(params, "service"), "https://api.weather.example"),
    };
}

static struct outcome failed(enum failure failure, const char *message, const char *hint) {
    struct outcome outcome = {.failure = failure};
    say(&outcome.message, message);
    say(&outcome.hint, hint);
    return outcome;
}

static double fahrenheit(double celsius) {
    return celsius * 9 / 5 + 32;
}

static double rounded(double number) {
    return round(number * 10) / 10;
}

static void say_percent_encoded(struct text *to, struct text string) {
    for (size_t i = 0; i < string.len; i++) {
        unsigned char c = string.ptr[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
        if (plain) add(to, &string.ptr[i], 1);
        else say_format(to, "%%%02X", c);
    }
}

struct outcome forecast(struct json arguments, struct params params, fetch_fn fetch) {
    struct text city, url = {0}, body = {0}, sky;
    if (!json_string(json_member(arguments, "city"), &city)) city = params.default_city;
    add(&url, params.service.ptr, params.service.len);
    say(&url, "/v1/now?city=");
    say_percent_encoded(&url, city);

    int status = 0;
    if (!fetch(url, &status, &body)) return (struct outcome){.failure = UNAVAILABLE};
    if (status == 404) {
        struct outcome outcome =
            failed(NOT_FOUND, "The weather service does not know the city '", "Check the spelling.");
        add(&outcome.message, city.ptr, city.len);
        say(&outcome.message, "'.");
        return outcome;
    }
    if (status == 401 || status == 403) {
        return failed(DENIED, "The weather service refused the gate's credentials.",
                      "Check the header under [gates.{{name}}.http] in presets.toml.");
    }
    if (status != 200) {
        struct outcome outcome = failed(UNAVAILABLE, "", "");
        say_format(&outcome.message, "The weather service answered with status %d.", status);
        return outcome;
    }
    struct json report = {body.ptr, body.len};
    double celsius;
    if (!is_utf8(body.ptr, body.len) || !json_string(json_member(report, "sky"), &sky) ||
        !json_number(json_member(report, "celsius"), &celsius)) {
        return failed(UNAVAILABLE, "The weather service sent an invalid weather report.", "");
    }

    double temperature = rounded(params.imperial ? fahrenheit(celsius) : celsius);
    const char *unit = params.imperial ? "°F" : "°C";
    struct outcome outcome = {.failure = NONE};
    add(&outcome.text, city.ptr, city.len);
    say(&outcome.text, ": ");
    add(&outcome.text, sky.ptr, sky.len);
    say_format(&outcome.text, ", %.1f %s", temperature, unit);
    say(&outcome.data, "{\"city\":");
    say_json(&outcome.data, city);
    say(&outcome.data, ",\"sky\":");
    say_json(&outcome.data, sky);
    say_format(&outcome.data, ",\"temperature\":%.1f,\"unit\":\"%s\"}", temperature, unit);
    return outcome;
}

struct outcome convert(struct json arguments) {
    double celsius = 0;
    json_number(json_member(arguments, "celsius"), &celsius);
    if (celsius < ABSOLUTE_ZERO) {
        return failed(INVALID_ARGUMENTS, "Nothing is colder than -273.15 °C.", "Check the sign.");
    }
    struct outcome outcome = {.failure = NONE};
    say_format(&outcome.text, "%.1f °C is %.1f °F.", celsius, fahrenheit(celsius));
    say_format(&outcome.data, "{\"celsius\":%.10g,\"fahrenheit\":%.1f}", celsius, fahrenheit(celsius));
    return outcome;
}
