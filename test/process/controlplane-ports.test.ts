import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { claim, CLAIMS } from '../../testbed/controlplane/ports.js';

const DRAW = `
  import { freePort } from ${JSON.stringify(new URL('../../testbed/controlplane/ports.js', import.meta.url).href)};
  console.log(await freePort());
  process.stdin.resume();
`;

for (const signal of ['SIGKILL', undefined] as const) {
  const how = signal === undefined ? 'ends' : 'is killed';
  test(`a port that another process has drawn is its own until it ${how}`, async () => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', DRAW], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const port = Number(line.toString());
    const file = path.join(CLAIMS, String(port));
    assert.equal(await readFile(file, 'utf8'), String(child.pid));
    assert.equal(await claim(port), false);

    if (signal === undefined) child.stdin.end();
    else child.kill(signal);
    await once(child, 'exit');
    assert.equal(existsSync(file), signal !== undefined);
    if (signal !== undefined) assert.equal(await claim(port), false, 'it is only made free');
    assert.equal(await claim(port), true);
  });
}
