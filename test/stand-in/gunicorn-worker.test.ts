/**
 * gunicorn_worker.py with the image's gunicorn, whose own threaded worker drops connections when it
 * ends. Facts: docs/contributing/frappe-16.md, gunicorn.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { VERSIONS } from '../../testbed/stand-in/image.js';
import { freePort } from '../../testbed/controlplane/ports.js';
import { eventually, get, SCRIPTS, temporaryDirectory } from '../jobs/servers.js';
import { BENCH_DIR } from '../../constructs/kit/constants.generated.js';
import { aReadyBench, aReader, aSecret } from '../golden/builders.js';
import { graphOf, kindOf } from '../golden/outcome.js';
import { ImageBench, needsImage } from './fixture.js';

/** Slow enough for the worker to wait for connections again while it answers. */
const APPLICATION = `
import time

def application(environ, start_response):
    time.sleep(0.3)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["REQUEST_METHOD"].encode() + b" " + environ["wsgi.input"].read()]
`;

const possible = await needsImage();
// The first gunicorn waits for data before it gives a connection to a thread, the second one does not.
for (const version of [VERSIONS.first, VERSIONS.next])
  describe(`a worker of gunicorn of ${version}`, possible, () => {
    let bench: ImageBench;
    before(async () => {
      bench = await ImageBench.make(version);
    });

    test('answers a connection that it takes while it answers its last request', async (t) => {
      const port = await freePort();
      const module = temporaryDirectory();
      writeFileSync(join(module, 'echo.py'), APPLICATION);
      const server = bench.daemon(
        [
          ...[join(bench.path, 'env/bin/gunicorn'), `--bind=127.0.0.1:${String(port)}`],
          ...['--workers=1', '--threads=2', '--worker-class=gunicorn_worker.Worker'],
          ...['--max-requests=2', 'echo:application'],
        ],
        { PYTHONPATH: `${SCRIPTS}:${module}`, PYTHONDONTWRITEBYTECODE: '1' },
      );
      t.after(() => server.stop());
      await eventually('gunicorn answers', async () => (await get(port, '/')).status === 200);

      const last = get(port, '/');
      await eventually('the worker is to end', () =>
        server.log().includes('Autorestarting worker'),
      );
      const late = connect(port, '127.0.0.1');
      late.write(
        'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello',
      );
      let answer = '';
      for await (const chunk of late) answer += String(chunk);
      assert.match(answer, /^HTTP\/1\.1 200 OK\r\n[^]*POST hello/);
      assert.equal((await last).status, 200);
      await eventually('the worker has ended', () => server.log().includes('Worker exiting'));
      assert.equal((await get(port, '/')).status, 200);
    });

    test('closes an idle connection, and frees its thread', async (t) => {
      const port = await freePort();
      const module = temporaryDirectory();
      // A minute is too long for a test: the value is checked, and then set to a second.
      const shorter = `
import gunicorn_worker
import struct

assert gunicorn_worker.RECEIVE_TIMEOUT == struct.pack("ll", 60, 0)
gunicorn_worker.RECEIVE_TIMEOUT = struct.pack("ll", 1, 0)
`;
      writeFileSync(join(module, 'echo.py'), `${shorter}${APPLICATION}`);
      const server = bench.daemon(
        [
          ...[join(bench.path, 'env/bin/gunicorn'), `--bind=127.0.0.1:${String(port)}`],
          ...['--workers=1', '--threads=1', '--worker-class=gunicorn_worker.Worker'],
          'echo:application',
        ],
        { PYTHONPATH: `${SCRIPTS}:${module}`, PYTHONDONTWRITEBYTECODE: '1' },
      );
      t.after(() => server.stop());
      await eventually('gunicorn answers', async () => (await get(port, '/')).status === 200);

      const silent = connect(port, '127.0.0.1');
      t.after(() => silent.destroy());
      await once(silent, 'connect');
      // Its thread is the only one: the next is answered behind it.
      assert.equal((await get(port, '/')).status, 200);
      if (!silent.closed) await once(silent.resume(), 'close');
    });
  });

/** The command of a bench's gunicorn. */
function commandOf(spec: object): readonly string[] {
  const bench = aReadyBench({ ...spec });
  const kind = kindOf(bench);
  const inputs = kind.resolve(bench, aReader([bench, aSecret('demo-bench-redis-auth')]));
  const deployment = graphOf(kind, bench, (scope, id) =>
    kind.chart(scope, id, { resource: bench, inputs }),
  )
    .flatMap(({ objects }) => objects)
    .find(({ kind: made, metadata }) => `${made} ${metadata.name}` === GUNICORN) as
    | {
        readonly spec: {
          readonly template: {
            readonly spec: { readonly containers: readonly { readonly command: string[] }[] };
          };
        };
      }
    | undefined;
  return deployment?.spec.template.spec.containers[0]?.command ?? [];
}

const GUNICORN = 'Deployment demo-bench-gunicorn';

for (const version of [VERSIONS.first, VERSIONS.next])
  describe(`gunicorn of ${version} with the numbers of a spec`, possible, () => {
    for (const [reason, spec, wanted] of [
      [
        'as they are',
        {
          gunicorn: {
            workers: 3,
            threads: 5,
            timeoutSeconds: 300,
            maxRequests: 1000,
            maxRequestsJitter: 10,
          },
        },
        { workers: 3, threads: 5, timeout: 300, max_requests: 1000, max_requests_jitter: 10 },
      ],
      [
        'that follow from its limits',
        { componentResources: { gunicorn: { limits: { cpu: '2', memory: '1Gi' } } } },
        { workers: 4, threads: 4, timeout: 120, max_requests: 5000, max_requests_jitter: 500 },
      ],
    ] as const) {
      test(`runs with those ${reason}`, async (t) => {
        const bench = await ImageBench.make(version);
        const port = await freePort();
        const [program = '', ...flags] = commandOf(spec).map((word) =>
          word.replaceAll(BENCH_DIR, bench.path),
        );
        const command = [program, `--bind=127.0.0.1:${port}`, ...flags];
        const env = { PYTHONPATH: SCRIPTS, PYTHONDONTWRITEBYTECODE: '1' };
        const { code, output } = bench.run([...command, '--print-config'], env);
        assert.equal(code, 0, output);
        const read = Object.keys(wanted).map((name) => {
          const [, value] = new RegExp(`^${name} += (\\S+)$`, 'm').exec(output) ?? [];
          return [name, Number(value)];
        });
        assert.deepEqual(Object.fromEntries(read), wanted);

        const server = bench.daemon(command, env);
        t.after(() => server.stop());
        const probe = { 'User-Agent': 'kube-probe/1.36' };
        await eventually(
          'gunicorn answers the probe',
          async () => (await get(port, '/api/method/ping', probe)).status === 200,
        );
        const pid = String(server.process.pid);
        const children = (): readonly string[] =>
          readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
        await eventually('its processes', () => children().length === wanted.workers);
      });
    }
  });
