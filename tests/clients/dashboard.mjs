// Looks at every page of the dashboard in Chromium, or does what a person would do there.
//
// Arguments: `look` or `act`, the address that opens the pages, the browser, a folder for screenshots, and a file that
// makes the broken server work. Prints what it saw as JSON; fails at the first thing that is wrong.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [mode, address, executablePath, screenshots, switchFile] = process.argv.slice(2);
const require = createRequire(path.join(process.env.MODULES, 'x.js'));
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const MAX_BYTES = 60 * 1024;
const WIDTHS = [360, 800, 1280];

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
const first = await browser.newContext();
const opened = await first.newPage();
await opened.goto(address);
assert.equal(await opened.title(), 'Now · Gatehouse');
const storageState = await first.storageState();
const stranger = await (await browser.newContext()).newPage();
assert.equal((await stranger.goto(address)).status(), 403, 'the address works once');

const base = new URL(address).origin;
const links = async (page) => page.$$eval('a[href]', (all) => all.map((link) => link.getAttribute('href')));
const pages = ['/', '/calls', '/tools', '/tools?sort=name&page=2', '/tools?q=fails', '/tools?preset=team', '/servers',
  '/servers/broken', '/servers/many', '/presets', '/presets/team', '/wiki', '/tools/many/fails'];
await opened.goto(`${base}/calls`);
pages.push((await links(opened)).find((link) => /^\/calls\/[^?]/.test(link)));

const report = { pages: [] };
async function look() {
  const context = await browser.newContext({ storageState });
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  for (const path of pages) {
    const response = await page.goto(base + path);
    assert.equal(response.status(), 200, path);
    const bytes = (await response.body()).length;
    assert.ok(bytes <= MAX_BYTES, `${path}: ${bytes} bytes`);
    assert.equal(await page.evaluate(() => document.scripts.length), 0, path);
    await page.evaluate(axe);
    const check = async (colorScheme, width, options) => {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${path} is ${overflow} pixels too wide at ${width}`);
      const violations = await page.evaluate(async (given) => (await window.axe.run(given)).violations, options);
      const matches = violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
      assert.deepEqual(matches, [], `${path} ${colorScheme} ${width}`);
    };
    // Colors do not depend on the width, and nothing else depends on the colors.
    const colors = 'color-contrast';
    for (const width of WIDTHS) await check('light', width, { rules: { [colors]: { enabled: false } } });
    for (const scheme of ['light', 'dark']) await check(scheme, WIDTHS.at(-1), { runOnly: [colors] });
    report.pages.push({ path, bytes });
  }
  assert.deepEqual(complaints, []);
}

const context = await browser.newContext({ storageState, viewport: { width: 1280, height: 900 } });
const page = await context.newPage();

async function useKeyboard() {
  // With the keyboard alone, everything that can be used is reached, in order, and shows that it has the focus.
  for (const path of ['/', '/tools', '/servers']) {
    await page.goto(base + path);
    const usable = await page.$$eval('a[href], button, input:not([type=hidden]), select, textarea, [tabindex="0"]', (all) => all.length);
    let reached = 0;
    for (; reached <= usable; reached += 1) {
      await page.keyboard.press('Tab');
      const focus = await page.evaluate(() => {
        const at = document.activeElement;
        return at === document.body ? null : getComputedStyle(at).outlineStyle;
      });
      if (focus === null) break;
      assert.notEqual(focus, 'none', `${path}: the focus is not visible`);
    }
    assert.equal(reached, usable, path);
  }

  // Names of tools and servers are text.
  await page.goto(`${base}/tools/many/hostile`);
  const shown = await page.textContent('main');
  assert.ok(shown.includes('<img src=x onerror=alert(1)>') && !shown.includes('\u202e'));
  assert.equal(await page.$('main img'), null);
}

async function act() {
  if (screenshots) {
    for (const [name, path] of [['now', '/'], ['tools', '/tools'], ['preset', '/presets/team']]) {
      await page.goto(base + path);
      await page.screenshot({ path: `${screenshots}/dashboard-${name}.png` });
    }
  }

  const notice = () => page.textContent('.notice');

  // The waiting approval, by keyboard: one press.
  await page.goto(base);
  await page.focus('button:has-text("Allow")');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.notice');
  report.approved = await notice();

  // The tool that fails: one click.
  await page.goto(base);
  await page.click('section:has(h2:has-text("Failing tools today")) a');
  assert.equal(await page.textContent('h1'), 'fails of many');
  report.failure = await page.textContent('section:has(h2:has-text("Last failures")) tbody');

  // The failing server: one click.
  fs.writeFileSync(switchFile, '');
  await page.goto(base);
  await page.click('tr:has-text("broken") button:has-text("Reconnect")');
  await page.waitForSelector('.notice');
  report.reconnected = await notice();

  // The changed tool: two clicks.
  await page.goto(base);
  await page.click('a[href="/servers#changes"]');
  report.difference = await page.textContent('#changes pre');
  await page.click('#changes button');
  await page.waitForSelector('.notice');
  report.reviewed = await notice();

  // A tool off and on again.
  await page.goto(`${base}/tools?preset=team&q=fails`);
  await page.check('tbody input[type=checkbox]');
  await page.click('button:has-text("Switch the selected tools off")');
  await page.waitForSelector('.notice');
  report.off = await notice();
  await page.goto(`${base}/tools?preset=team&q=fails`);
  assert.equal(await page.$('tbody tr'), null, 'a tool that is off is not listed');
  await page.goto(`${base}/presets/team`);
  await page.click('tr:has-text("many__fails") button:has-text("Switch on")');
  await page.waitForSelector('.notice');
  report.on = await notice();

  // A tool with a form from its schema.
  await page.goto(`${base}/tools/many/says`);
  await page.fill('[name="argument.text"]', 'from the page');
  await page.click('button:has-text("Call it")');
  await page.waitForSelector('.notice');
  report.tried = await notice();

  // Another description.
  await page.fill('form[action="/tools/describe"] textarea', 'Says it again.');
  await page.click('button:has-text("Save in presets.toml")');
  await page.waitForSelector('.notice');
  report.described = await notice();

  // A new server, which is tested first.
  await page.goto(`${base}/servers`);
  await page.fill('[name="name"]', 'fresh');
  await page.fill('[name="reached_by"]', process.env.NEW_SERVER);
  await page.fill('[name="variable1"]', 'FRESH_KEY');
  await page.fill('[name="value1"]', 's3cret-value');
  await page.click('button:has-text("Test it")');
  await page.waitForSelector('.notice');
  report.tested = await notice();
  assert.ok(!(await page.content()).includes('s3cret-value'));
  await page.click('section:has-text("Tested and not saved") button:has-text("Save")');
  await page.waitForSelector('.notice');
  report.added = await notice();

  // A form without the value of this session does nothing.
  const cookies = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
  const forged = (headers) => fetch(`${base}/reconnect`, {
    method: 'POST', redirect: 'manual', body: 'server=broken&csrf=0',
    headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: cookies, ...headers },
  });
  assert.equal((await forged({})).status, 403);
  assert.equal((await forged({ origin: 'https://evil.example' })).status, 403);
  assert.equal((await fetch(base)).status, 403, 'without the cookie');
}

// The median time of pages in milliseconds, without the browser.
async function measure() {
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
  report.ms = {};
  for (const path of ['/', '/tools', '/calls', '/servers', '/presets/team']) {
    const times = [];
    for (let round = 0; round < 9; round += 1) {
      const start = performance.now();
      await (await fetch(base + path, { headers: { cookie } })).text();
      times.push(performance.now() - start);
    }
    report.ms[path] = times.sort((a, b) => a - b)[4];
  }
}

if (mode === 'look') {
  await look();
  await useKeyboard();
} else {
  await act();
}
await measure();
console.log(JSON.stringify(report));
await browser.close();
