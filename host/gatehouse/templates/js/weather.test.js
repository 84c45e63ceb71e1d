// Run with `npm test`: tests the tools without WebAssembly, with a fake weather service.

import assert from "node:assert/strict";
import { test } from "node:test";

import { DEFAULTS, TOOLS } from "./weather.js";

const run = (name, ...rest) => TOOLS.find((tool) => tool.name === name).run(...rest);

test("a forecast is for the city of the preset and on its scale", () => {
  let asked;
  const fetchText = (url) => {
    asked = url;
    return { status: 200, text: '{"sky": "light rain", "celsius": 7.5}' };
  };
  const params = { ...DEFAULTS, default_city: "São Paulo", units: "imperial" };
  const { text, data } = run("forecast", {}, params, fetchText);
  assert.equal(asked, "https://api.weather.example/v1/now?city=S%C3%A3o%20Paulo");
  assert.equal(text, "São Paulo: light rain, 45.5 °F");
  assert.equal(data.temperature, 45.5);
});

test("each failure of the service has its kind", () => {
  const kinds = { 404: "not-found", 403: "denied", 500: "unavailable", 200: "unavailable" };
  for (const [status, kind] of Object.entries(kinds)) {
    const fetchText = () => ({ status: Number(status), text: "{}" });
    assert.throws(() => run("forecast", { city: "Oslo" }, DEFAULTS, fetchText), { kind });
  }
});

test("impossible temperatures are rejected", () => {
  assert.equal(run("convert", { celsius: 7.5 }).text, "7.5 °C is 45.5 °F.");
  assert.throws(() => run("convert", { celsius: -300 }), { kind: "invalid-arguments" });
});
