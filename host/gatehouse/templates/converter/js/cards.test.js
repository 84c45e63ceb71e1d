// Run with `npm test`: tests the conversion without WebAssembly.

import assert from "node:assert/strict";
import { test } from "node:test";

import { markdown, NoText } from "./cards.js";

const file = (text) => new TextEncoder().encode(text);

test("a card becomes Markdown", () => {
  const { text, losses } = markdown(file("@title Basil soup\n* 3 tomatoes\n= Boil.\n= Eat.\n? x\n"), "a.card", "");
  assert.equal(text, "# Basil soup\n\n- 3 tomatoes\n1. Boil.\n2. Eat.\n");
  assert.deepEqual(losses, ["has 1 lines of an unknown kind, which are left out"]);
});

test("another file is refused", () => {
  assert.throws(() => markdown(Uint8Array.of(0xff, 0xd8), "photo.card", ""), NoText);
});
