import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { requestedImage } from '../../constructs/frappe/image.js';
import { assetsOf, knowsAssets, printingCondition } from '../../constructs/kinds/bench/assets.js';
import type { AppBench, BenchAssets } from '../../constructs/api/bench.js';
import type { BenchInputs } from '../../constructs/kinds/bench/resolve.js';
import type { JobRun, Observation } from '../../constructs/kit/kind.js';
import { aReader, aReadyBench, aSecret, aSite } from '../golden/builders.js';
import { graphOf, kindOf } from '../golden/outcome.js';

const OLD = 'frappe/erpnext:v15.50.0';
const NEW = 'frappe/erpnext:v15.121.3';
const tagOf = (image: string): string => image.split(':')[1] ?? '';

/** What is observed of a bench whose init Job has ended with a result. */
function observed(
  image: string,
  before: BenchAssets | undefined,
  message: string | undefined,
  state: 'Ready' | 'InProgress' = 'Ready',
): Observation<AppBench, BenchInputs> {
  const bench = aReadyBench({ image: { tag: tagOf(image) } });
  const resource = { ...bench, status: { ...bench.status, ...(before ? { assets: before } : {}) } };
  const run = { name: 'demo-bench-init', state: 'Succeeded', message } as JobRun;
  return {
    resource,
    runs: [run],
    child: () => ({ health: { state, message: '' } }),
  } as unknown as Observation<AppBench, BenchInputs>;
}
/** With the image as the spec names it. */
const assetsIn = (observation: Observation<AppBench, BenchInputs>): BenchAssets | undefined =>
  assetsOf(observation, requestedImage(observation.resource.spec));

const result = (more = ''): string =>
  `app-operator: Succeeded: {"apps": {"frappe": "15.44.2"}${more}}`;
const IN_SITES = result(', "assets": "sites"');

suite('where an image has its assets', () => {
  test('is known from the result of the init Job', () => {
    assert.deepEqual(assetsIn(observed(OLD, undefined, IN_SITES)), { image: OLD, inSites: [OLD] });
    assert.deepEqual(assetsIn(observed(NEW, undefined, result())), { image: NEW, inSites: [] });
  });
  test('is kept for the images before, which pods still run while sites are upgraded', () => {
    const before = { image: OLD, inSites: [OLD] };
    assert.deepEqual(assetsIn(observed(NEW, before, result())), { image: NEW, inSites: [OLD] });
  });
  test('is not read again, and not before the Job has ended', () => {
    const before = { image: OLD, inSites: [OLD] };
    assert.equal(assetsIn(observed(OLD, before, result())), before);
    assert.equal(assetsIn(observed(NEW, before, IN_SITES, 'InProgress')), before);
    assert.equal(knowsAssets(observed(OLD, before, undefined).resource), true);
    assert.equal(knowsAssets(observed(NEW, before, undefined).resource), false);
  });
  test('is as in newer images without a result', () => {
    for (const message of [undefined, 'killed', 'app-operator: Succeeded: {broken}']) {
      assert.deepEqual(assetsIn(observed(OLD, undefined, message)), { image: OLD, inSites: [] });
    }
  });
});

suite('programs that print, and that the image lacks', () => {
  const LACKING = result(', "missing": ["wkhtmltopdf", "Chromium"]');
  test('are known from the same result, until there is another image', () => {
    const missing = ['wkhtmltopdf', 'Chromium'];
    const found = assetsIn(observed(OLD, undefined, LACKING));
    assert.deepEqual(found, { image: OLD, inSites: [], missing });
    assert.deepEqual(assetsIn(observed(OLD, found, undefined)), found);
    assert.deepEqual(assetsIn(observed(NEW, found, result())), { image: NEW, inSites: [] });
  });
  test('are in a condition', () => {
    assert.deepEqual(printingCondition(undefined), []);
    assert.deepEqual(printingCondition({ image: OLD, inSites: [] }), []);
    const [condition, ...others] = printingCondition(assetsIn(observed(OLD, undefined, LACKING)));
    assert.deepEqual(others, []);
    assert.deepEqual([condition?.type, condition?.status], ['Printing', 'False']);
    assert.equal(
      condition?.message,
      `image ${OLD}: it has no wkhtmltopdf and no Chromium, which PDFs are printed with; use an image that has it: docs/printing.md`,
    );
  });
});

suite('pods of an image with its assets in the folder sites', () => {
  /** The Deployments with an init container that copies them. */
  const copying = (image: string, inSites: readonly string[]): readonly string[] => {
    const ready = aReadyBench({ image: { tag: tagOf(image) } });
    const bench = { ...ready, status: { ...ready.status, assets: { image, inSites } } };
    const site = aSite();
    const reader = aReader([bench, site, aSecret('demo-bench-redis-auth')]);
    return [bench, site]
      .flatMap((resource) => {
        const kind = kindOf(resource);
        const inputs = kind.resolve(resource, reader);
        return graphOf(kind, resource, (scope, id) => kind.chart(scope, id, { resource, inputs }));
      })
      .flatMap(({ objects }) => objects)
      .filter((object) => JSON.stringify(object).includes('/assets.sh'))
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  };

  test('copy them: the proxy, gunicorn and workers, also of sites', () => {
    const own = ['gunicorn', 'worker-default', 'worker-short', 'worker-long'];
    const wanted = ['nginx', ...own].map((name) => `Deployment demo-bench-${name}`);
    const ofSite = own.map((name) => `Deployment demo-site-${name}`);
    assert.deepEqual([...copying(OLD, [OLD])].sort(), [...wanted, ...ofSite].sort());
  });
  test('are the only ones that do', () => {
    assert.deepEqual(copying(NEW, []), []);
    assert.deepEqual(copying(NEW, [OLD]), []);
  });
});
