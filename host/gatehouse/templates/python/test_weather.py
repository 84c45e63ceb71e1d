"""Run with `python3 -m unittest`: tests the tools without WebAssembly, with a fake weather service."""

import json
import unittest

import weather


def answers(status, report):
    """Returns a fake fetch that records the URL."""
    def fetch(url):
        fetch.url = url
        return status, json.dumps(report).encode()
    return fetch


class Weather(unittest.TestCase):
    def test_a_forecast_is_for_the_city_of_the_preset_and_on_its_scale(self):
        fetch = answers(200, {"sky": "light rain", "celsius": 7.5})
        params = {**weather.DEFAULTS, "default_city": "São Paulo", "units": "imperial"}
        text, data = weather.forecast({}, params, fetch)
        self.assertEqual(fetch.url, "https://api.weather.example/v1/now?city=S%C3%A3o%20Paulo")
        self.assertEqual(text, "São Paulo: light rain, 45.5 °F")
        self.assertEqual(data["temperature"], 45.5)

    def test_each_failure_of_the_service_has_its_kind(self):
        for status, kind in [(404, "NOT_FOUND"), (403, "DENIED"), (500, "UNAVAILABLE"), (200, "UNAVAILABLE")]:
            with self.assertRaises(weather.Failure) as caught:
                weather.forecast({"city": "Oslo"}, weather.DEFAULTS, answers(status, {}))
            self.assertEqual(caught.exception.kind, kind)

    def test_impossible_temperatures_are_rejected(self):
        self.assertEqual(weather.convert({"celsius": 7.5}, {}, None)[0], "7.5 °C is 45.5 °F.")
        with self.assertRaises(weather.Failure) as caught:
            weather.convert({"celsius": -300}, {}, None)
        self.assertEqual(caught.exception.kind, "INVALID_ARGUMENTS")


if __name__ == "__main__":
    unittest.main()
