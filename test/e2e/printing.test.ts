import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import { printProgress } from '../../testbed/controlplane/progress.js';
import { ensureImage } from '../../testbed/node/image.js';
import { frappeImage, VERSIONS } from '../../testbed/stand-in/image.js';
import { aSite } from '../cluster/support/builders.js';
import { at } from '../cluster/support/objects.js';
import type { Answer, RequestOptions } from '../support/http.js';
import { standInMethod, standInOnly } from './framework.js';
import { type E2e, e2e, skip } from './harness.js';
import { cleanUp, runningPod, smallBench } from './support/benches.js';

const HOST = 'p.example.com';
/** The image of a version that has both generators, without their programs and with them. */
const WITHOUT = VERSIONS.next;
const WITH = `${VERSIONS.next}-printing`;
const PROGRAMS = ['wkhtmltopdf', 'chromium-headless-shell', 'fonts-dejavu-core'];
/** A width that only the site's style sheet gives a page of Chromium: 100 mm in points. */
const WIDTH = /\/MediaBox \[0 0 28[23]/;
/** A picture of one pixel, which only the site has. */
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

let cluster: E2e;
let namespace: string;
let cookie: string;
let todo: string;

suite('printing', { skip: skip || standInOnly('an image without the programs') }, () => {
  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    await cluster.apply(
      namespace,
      smallBench('b', {
        frameworkVersion: 'version-16',
        image: { tag: WITHOUT, pullPolicy: 'IfNotPresent' },
        componentReplicas: {
          ...{ socketio: 0, scheduler: 0, workerShort: 0, workerLong: 0 },
          workerDefault: 1,
        },
      }),
      aSite('p', { bench: 'b', workloads: 'Shared' }),
    );
    await cluster.ready('AppSite', namespace, 'p');
    cookie = await login();
    await upload('print.css', '@page { size: 100mm 100mm }');
    await upload('logo.png', Buffer.from(PICTURE, 'base64'));
    const description =
      '<link rel="stylesheet" href="/files/print.css"><p>Amount 42</p><img src="/files/logo.png">';
    const created = await request('/api/resource/ToDo', json({ description }));
    assert.equal(created.status, 200, created.body);
    ({ name: todo } = (
      JSON.parse(created.body) as { readonly data: { readonly name: string } }
    ).data);
  });

  after(async () => cleanUp(cluster, namespace));

  test('without the programs fails with a message, and the condition names them', async () => {
    const condition = await printing();
    assert.equal(condition?.['status'], 'False');
    assert.equal(condition['reason'], 'ProgramMissing');
    const named = /it has no wkhtmltopdf and no Chromium, which PDFs are printed with/;
    assert.match(condition['message'] ?? '', named);
    for (const [generator, missing] of [
      ['wkhtmltopdf', 'wkhtmltopdf'],
      ['chrome', 'Chromium'],
    ] as const) {
      const { status, body } = await download(generator);
      assert.equal(status, 417, body);
      assert.ok(
        body.includes(`This PDF cannot be made: the bench's image has no ${missing}.`),
        body,
      );
    }
  });

  test('in an image with the programs downloads PDFs, with the resources of the site', async (t) => {
    const started = Date.now();
    const archive = await imageWithPrograms();
    if (archive === undefined) {
      t.skip('NOT TESTED: the packages cannot be had: see above');
      return;
    }
    await cluster.node.loadImage(archive);
    cluster.figures.add('build and load the image that prints', `${Date.now() - started} ms`);
    await cluster.patch('AppBench', namespace, 'b', { spec: { image: { tag: WITH } } });
    await cluster.until(
      'gunicorn and the worker to have the image',
      async () => {
        const pods = await cluster.pods(namespace, 'app in (b-gunicorn,b-worker-default)');
        const images = pods.map((pod) => String(at(pod, 'spec.containers[0].image')));
        return images.length === 2 && images.every((image) => image.endsWith(`:${WITH}`));
      },
      240_000,
    );
    await cluster.ready('AppSite', namespace, 'p');
    await cluster.until('the condition', async () => (await printing()) === undefined);
    const gunicorn = await runningPod(cluster, namespace, 'b-gunicorn');
    const check = `getent hosts ${HOST} || echo none; touch /proof 2>&1 || true; id -u`;
    const output = await cluster.exec(namespace, gunicorn, ['sh', '-c', check]);
    assert.match(output, /^none\ntouch: .*Read-only file system\n1001\n$/);
    for (const generator of ['wkhtmltopdf', 'chrome'] as const) {
      const earlier = await resourceRequests();
      const since = Date.now();
      const answer = await download(generator);
      cluster.figures.add(`a PDF by ${generator}`, `${Date.now() - since} ms`);
      assertPdf(answer, generator);
      await assertResources(earlier);
    }
  });

  test('by a worker leaves a PDF that its user downloads', async (t) => {
    const tag = at(await cluster.the('AppBench', namespace, 'b'), 'spec.image.tag');
    if (tag !== WITH) {
      t.skip('NOT TESTED: the packages cannot be had: see above');
      return;
    }
    for (const generator of ['wkhtmltopdf', 'chrome'] as const) {
      const earlier = await resourceRequests();
      const job = { method: 'frappe.tests.e2e.print_todo', name: todo, pdf_generator: generator };
      const enqueued = await request(standInMethod('enqueue'), json(job));
      assert.equal(enqueued.status, 200, enqueued.body);
      const { message: id } = JSON.parse(enqueued.body) as { readonly message: string };
      await cluster.until(`the job with ${generator}`, async () => {
        const { body } = await request(standInMethod('job_status'), json({ job_id: id }));
        const { message } = JSON.parse(body) as { readonly message: string };
        assert.notEqual(message, 'failed', generator);
        return message === 'finished';
      });
      const path = `/private/files/${todo}.pdf`;
      assertPdf(await request(path, { headers: { cookie } }), generator);
      assert.equal((await request(path)).status, 403, 'not for Guest');
      await assertResources(earlier);
    }
  });
});

/** The archive; undefined, and the reason in the output, where the packages cannot be had. */
async function imageWithPrograms(): Promise<string | undefined> {
  const image = frappeImage({ name: `frappe/erpnext:${WITH}`, version: VERSIONS.next });
  try {
    return await ensureImage(
      { ...image, packages: [...image.packages, ...PROGRAMS] },
      printProgress,
    );
  } catch (error) {
    console.error(`NOT TESTED: ${PROGRAMS.join(', ')}: ${String(error).slice(0, 300)}`);
    return undefined;
  }
}

function request(path: string, options: RequestOptions = {}): Promise<Answer> {
  return cluster.request(namespace, 'b', { host: HOST, path }, options);
}

function json(body: object): RequestOptions {
  const headers = { 'content-type': 'application/json', cookie };
  return { method: 'POST', headers, body: JSON.stringify(body), timeoutMs: 90_000 };
}

function download(generator: 'wkhtmltopdf' | 'chrome'): Promise<Answer> {
  const query = new URLSearchParams({ doctype: 'ToDo', name: todo, pdf_generator: generator });
  const path = `/api/method/frappe.utils.print_format.download_pdf?${query.toString()}`;
  return request(path, { headers: { cookie }, timeoutMs: 90_000 });
}

function assertPdf({ status, body, headers }: Answer, generator: string): void {
  assert.equal(status, 200, body.slice(0, 300));
  assert.match(String(headers['content-type']), /^application\/pdf/);
  assert.match(body, /^%PDF-/);
  if (generator === 'chrome') assert.match(body, WIDTH);
}

/** How often nginx has sent each of the page's resources. */
async function resourceRequests(): Promise<readonly number[]> {
  const log = await cluster.logs(namespace, await runningPod(cluster, namespace, 'b-nginx'));
  return ['print.css', 'logo.png'].map(
    (name) => log.split(`"GET /files/${name} HTTP/1.1" 200 `).length - 1,
  );
}

async function assertResources(earlier: readonly number[]): Promise<void> {
  await cluster.until('nginx to have sent the resources', async () => {
    const now = await resourceRequests();
    return now.every((count, index) => count > (earlier[index] ?? 0));
  });
}

async function printing(): Promise<Readonly<Record<string, string>> | undefined> {
  const { status } = await cluster.the('AppBench', namespace, 'b');
  const conditions = (at(status, 'conditions') ?? []) as readonly Record<string, string>[];
  return conditions.find(({ type }) => type === 'Printing');
}

async function login(): Promise<string> {
  const { data } = await cluster.the('Secret', namespace, 'p-admin-password');
  const pwd = Buffer.from(String(at(data, 'password')), 'base64').toString();
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ usr: 'Administrator', pwd });
  const answer = await request('/api/method/login', { method: 'POST', headers, body });
  assert.equal(answer.status, 200, answer.body);
  const set = answer.headers['set-cookie']?.find((one) => one.startsWith('sid='));
  return set?.split(';')[0] ?? '';
}

async function upload(name: string, content: string | Buffer): Promise<void> {
  const head = `--e2e\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`;
  const answer = await request('/api/method/upload_file', {
    method: 'POST',
    headers: { cookie, 'content-type': 'multipart/form-data; boundary=e2e' },
    body: Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from('\r\n--e2e--\r\n')]),
  });
  assert.equal(answer.status, 200, answer.body);
}
