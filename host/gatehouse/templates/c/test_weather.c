// Run with `make test`: tests the tools without WebAssembly, with a fake weather service.

#include <stdio.h>
#include <string.h>

#include "weather.h"

static int failures = 0;

static void check(const char *what, struct text got, const char *wanted) {
    if (got.len == strlen(wanted) && memcmp(got.ptr, wanted, got.len) == 0) return;
    printf("%s: '%.*s' should be '%s'\n", what, (int)got.len, got.ptr, wanted);
    failures++;
}

static void check_failure(const char *what, struct outcome got, enum failure wanted) {
    if (got.failure == wanted) return;
    printf("%s: failure %d should be %d\n", what, got.failure, wanted);
    failures++;
}

static struct json json(const char *text) {
    return (struct json){text, strlen(text)};
}

static struct text asked;
static int status;
static const char *report;

static bool fetch(struct text url, int *answered, struct text *body) {
    asked = url;
    *answered = status;
    say(body, report);
    return true;
}

static void a_forecast_is_for_the_city_of_the_preset_and_on_its_scale(void) {
    status = 200, report = "{\"list\": [{\"sky\": 1}], \"sky\": \"light \\u0072ain\", \"celsius\": 7.5}";
    struct params params = read_params(json("{\"default_city\": \"São Paulo\", \"units\": \"imperial\"}"));
    struct outcome outcome = forecast(json("{}"), params, fetch);
    check("url", asked, "https://api.weather.example/v1/now?city=S%C3%A3o%20Paulo");
    check("text", outcome.text, "São Paulo: light rain, 45.5 °F");
    check("data", outcome.data,
          "{\"city\":\"São Paulo\",\"sky\":\"light rain\",\"temperature\":45.5,\"unit\":\"°F\"}");
}

static void each_failure_of_the_service_has_its_kind(void) {
    struct {
        int status;
        const char *report;
        enum failure failure;
    } cases[] = {
        {404, "", NOT_FOUND},
        {403, "", DENIED},
        {500, "", UNAVAILABLE},
        {200, "{\"sky\": \"\xff\", \"celsius\": 1}", UNAVAILABLE},
        {200, "{\"sky\": \"x\", \"celsius\": \"warm\"", UNAVAILABLE},
        {200, "[", UNAVAILABLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        status = cases[i].status, report = cases[i].report;
        check_failure(report, forecast(json("{\"city\":\"Oslo\"}"), read_params(json("{}")), fetch), cases[i].failure);
    }
}

static void impossible_temperatures_are_rejected(void) {
    check("convert", convert(json("{\"celsius\":7.5}")).text, "7.5 °C is 45.5 °F.");
    check_failure("cold", convert(json("{\"celsius\":-300}")), INVALID_ARGUMENTS);
}

int main(void) {
    a_forecast_is_for_the_city_of_the_preset_and_on_its_scale();
    each_failure_of_the_service_has_its_kind();
    impossible_temperatures_are_rejected();
    if (failures == 0) printf("ok\n");
    return failures;
}
