/**
 * Checks the built site in a real Chromium: `node check.ts <folder> <base>`. Prints what it tried and
 * each problem, and exits with 1 if there is one. CHROMIUM names another browser.
 */
import { AxeBuilder } from '@axe-core/playwright';
import { mkdirSync, readdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { preview } from 'vite';

/** What a reader types, and the pages that answer it: one of them must be among the first results. */
const QUESTIONS: readonly (readonly [question: string, pages: readonly string[]])[] = [
  ['admin password', ['users', 'first-site']],
  ['restore backup', ['restore']],
  ['cert-manager issuer', ['certificates']],
  ['ReadWriteMany', ['before-you-begin', 'first-site']],
  ['scale workers', ['autoscaling', 'sizing']],
  ['site_config.json', ['site-configuration']],
  ['DatabaseAccessDenied', ['reasons', 'databases']],
  ['upgrade Frappe', ['upgrade-sites', 'images']],
  ['delete a bench', ['remove']],
  ['prometheus alerts', ['monitoring', 'runbooks/']],
];
const PHONE = { width: 360, height: 740 };
const DESKTOP = { width: 1280, height: 800 };
const PICTURES = ['', 'first-site', 'spec/appsite'];
const RESULTS = 5;

const [folder = '', base = '/'] = process.argv.slice(2);
let problems = 0;
const tried: Record<string, number> = {};

const server = await preview({
  root: import.meta.dirname,
  base,
  build: { outDir: folder },
  configFile: false,
  preview: { host: '127.0.0.1', port: 0, strictPort: false },
  logLevel: 'warn',
});
const { port } = server.httpServer.address() as AddressInfo;
const origin = `http://127.0.0.1:${String(port)}`;
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
try {
  const anchors = await checkPages(browser);
  checkLinks(anchors);
  await checkSearch(browser);
  await takePictures(browser);
} finally {
  await browser.close();
  await server.close();
}
for (const [what, count] of Object.entries(tried)) console.log(`${what}: ${String(count)}`);
console.log(problems === 0 ? 'no problem' : `${String(problems)} problems`);
process.exitCode = problems === 0 ? 0 : 1;

/** What a page has to be linked to, and what it links. */
interface Anchors {
  readonly ids: ReadonlySet<string>;
  readonly links: readonly string[];
}

async function checkPages(browser: Browser): Promise<ReadonlyMap<string, Anchors>> {
  const anchors = new Map<string, Anchors>();
  const context = await browser.newContext({ viewport: DESKTOP });
  const page = await context.newPage();
  const pages = names();
  for (const name of pages) {
    const watched = watch(page, name);
    console.error(`page ${String(anchors.size + 1)} of ${String(pages.length)}: ${name}`);
    await page.goto(url(name), { waitUntil: 'load' });
    anchors.set(name, await anchorsOf(page));
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await checkAccessibility(page, `${name} (${colorScheme})`);
    }
    await page.setViewportSize(PHONE);
    await checkWidth(page, name);
    await page.setViewportSize(DESKTOP);
    watched();
    count('pages');
  }
  await context.close();
  return anchors;
}

/** Reports errors on the console and requests that fail, until the returned function is called. */
function watch(page: Page, name: string): () => void {
  const tell = (text: string): void => {
    report(`${name}: ${text}`);
  };
  page.on('console', (message) => {
    if (message.type() === 'error') tell(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => {
    tell(`error: ${error.message}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) tell(`${String(response.status())} for ${response.url()}`);
  });
  return () => page.removeAllListeners();
}

async function anchorsOf(page: Page): Promise<Anchors> {
  const found = await page.evaluate(() => ({
    ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
    links: [...document.querySelectorAll('a[href]')].map((a) => (a as HTMLAnchorElement).href),
  }));
  return { ids: new Set(found.ids), links: found.links };
}

async function checkAccessibility(page: Page, name: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  count('accessibility');
  for (const { id, help, nodes } of violations) {
    const targets = nodes.slice(0, 3).map(({ target }) => target.join(' '));
    report(`${name}: ${id}: ${help}: ${targets.join('; ')} (${String(nodes.length)})`);
  }
}

async function checkWidth(page: Page, name: string): Promise<void> {
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  count('pages at 360 px');
  if (width > PHONE.width) report(`${name}: is ${String(width)} px wide at 360 px`);
}

/** Each link within the site leads to a page, and to an anchor of it. */
function checkLinks(anchors: ReadonlyMap<string, Anchors>): void {
  for (const [name, { links }] of anchors) {
    for (const link of new Set(links)) {
      const { origin: to, pathname, hash } = new URL(link);
      if (to !== origin) continue;
      count('links');
      const target = anchors.get(nameOf(pathname));
      if (!target) report(`${name}: link to ${pathname}: no such page`);
      else if (hash && !target.ids.has(decodeURIComponent(hash.slice(1))))
        report(`${name}: link to ${pathname}${hash}: no such anchor`);
    }
  }
}

async function checkSearch(browser: Browser): Promise<void> {
  const page = await browser.newPage({ viewport: DESKTOP });
  for (const [question, wanted] of QUESTIONS) {
    await page.goto(url(''), { waitUntil: 'load' });
    await page.locator('#local-search button').first().click();
    await page.locator('#localsearch-input').fill(question);
    const results = page.locator('#localsearch-list a');
    await results
      .first()
      .waitFor({ timeout: 10_000 })
      .catch(() => undefined);
    const links = await results.evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).href));
    const first = links.slice(0, RESULTS).map((link) => nameOf(new URL(link).pathname));
    count('searches');
    if (!first.some((name) => wanted.some((prefix) => name.startsWith(prefix))))
      report(`search for "${question}": ${first.join(', ')}; not ${wanted.join(' or ')}`);
  }
  await page.close();
}

async function takePictures(browser: Browser): Promise<void> {
  const pictures = path.join(folder, '../pictures');
  mkdirSync(pictures, { recursive: true });
  for (const name of PICTURES) {
    for (const [size, viewport] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
      const page = await browser.newPage({ viewport });
      await page.goto(url(name), { waitUntil: 'load' });
      const file = `${name.replaceAll('/', '-') || 'home'}-${size}.png`;
      await page.screenshot({ path: path.join(pictures, file) });
      await page.close();
    }
  }
}

/** The pages in the folder, as `spec/appsite`; those of other versions are built and checked by themselves. */
function names(): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.html') && file !== '404.html' && !/^v\d/.test(file))
    .map((file) => file.replace(/(^|(?<=\/))index\.html$|\.html$/, ''))
    .sort();
}

function url(name: string): string {
  return `${origin}${base}${name}`;
}

function nameOf(pathname: string): string {
  return pathname.slice(base.length).replace(/(\.html|\/index)$/, '');
}

function report(problem: string): void {
  problems++;
  console.log(problem);
}

function count(what: string): void {
  tried[what] = (tried[what] ?? 0) + 1;
}
