/**
 * gunicorn_worker.py with the image's gunicorn, whose own threaded worker drops connections when it
 * ends.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { freePort } from '../../testbed/controlplane/ports.js';
import { eventually, get, SCRIPTS, temporaryDirectory } from '../jobs/servers.js';
import { ImageBench, needsImage } from './fixture.js';

/** Slow enough for the worker to wait for connections again while it answers. */
const APPLICATION = `
import time

def application(environ, start_response):
    time.sleep(0.3)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["REQUEST_METHOD"].encode() + b" " + environ["wsgi.input"].read()]
`;

describe('a worker of gunicorn', await needsImage(), () => {
  let bench: ImageBench;
  before(async () => {
    bench = await ImageBench.make();
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
    await eventually('the worker is to end', () => server.log().includes('Autorestarting worker'));
    const late = connect(port, '127.0.0.1');
    late.write('POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello');
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
