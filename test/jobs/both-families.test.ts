/** The programs of pods listen on IPv4 and IPv6, in a network of their own, where their ports are free. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { GUNICORN_PORT, METRICS_PORT } from '../../constructs/kit/constants.generated.js';
import { program, SCRIPTS, temporaryDirectory } from './servers.js';

const RUN = 'ip link set lo up; "$@" & python3 "$CHECK" "$PORT"; code=$?; kill $!; exit $code';
const CHECK = `
import socket, sys, time
def answers(host):
    try:
        with socket.create_connection((host, int(sys.argv[1])), 5) as client:
            client.sendall(b"GET /healthz HTTP/1.0\\r\\n\\r\\n")
            return client.recv(12)[-3:] == b"200"
    except OSError:
        return False
for host in ("127.0.0.1", "::1"):
    end = time.monotonic() + 20
    while not answers(host):
        if time.monotonic() > end:
            sys.exit(f"no answer from {host}")
        time.sleep(0.1)
`;

const canUnshare = spawnSync('unshare', ['--net', 'ip', 'link']).status === 0;
const possible =
  canUnshare && program('gunicorn') !== undefined
    ? {}
    : { skip: 'NOT TESTED: it needs root for unshare --net, and gunicorn' };

describe('a program of a pod answers by IPv4 and by IPv6', possible, () => {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, 'sites'));
  writeFileSync(join(folder, 'check.py'), CHECK);
  writeFileSync(
    join(folder, 'echo.py'),
    'def application(environ, start):\n    start("200 OK", [])\n    return [b"ok"]\n',
  );
  const gunicorn = [
    program('gunicorn') ?? '',
    '--config=python:gunicorn_config',
    ...['--worker-class=gunicorn_worker.Worker', 'echo:application'],
  ];
  for (const [name, port, command] of [
    ['gunicorn', GUNICORN_PORT, gunicorn],
    ['the exporter', METRICS_PORT, ['python3', join(SCRIPTS, 'bench_metrics.py')]],
  ] as const) {
    test(name, () => {
      const { status, stderr } = spawnSync(
        'unshare',
        ['--net', 'sh', '-c', RUN, name, ...command],
        {
          env: {
            ...process.env,
            ...{ CHECK: join(folder, 'check.py'), PORT: String(port), BENCH_DIR: folder },
            ...{ NAMESPACE: 'team', BENCH: 'b', PYTHONPATH: `${SCRIPTS}:${folder}` },
            PYTHONDONTWRITEBYTECODE: '1',
          },
          encoding: 'utf8',
        },
      );
      assert.equal(status, 0, stderr);
    });
  }
});
