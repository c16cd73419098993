import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { ApiError } from '../../runner/api/api-error.js';
import type { Client } from '../../runner/api/client.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { CaInjector } from '../../runner/admission/ca-injector.js';

const NAMESPACE = 'app-operator-system';

/** A CA injector without a Secret; `made` answers its attempts to create it. */
function caInjector(made: () => unknown) {
  const output = new PassThrough();
  let requests = 0;
  const client = {
    request: async (method: string) => {
      if (method === 'GET') return { kind: 'List', metadata: { resourceVersion: '1' }, items: [] };
      requests += 1;
      return made();
    },
    // eslint-disable-next-line require-yield -- a watch in which nothing happens
    watch: async function* (_path: string, { signal }: { readonly signal?: AbortSignal } = {}) {
      await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    },
  } as unknown as Pick<Client, 'request' | 'watch'>;
  const it = new CaInjector({
    client,
    namespace: NAMESPACE,
    hosts: ['127.0.0.1'],
    onKeys: () => undefined,
    log: createLogger({ logLevel: 'info', logEncoder: 'json' }, output),
  });
  const text = (): string => String((output.read() as Buffer | null) ?? '');
  return { it, requests: () => requests, text };
}

const refused = (code: number): never => {
  throw ApiError.of('POST', code, JSON.stringify({ kind: 'Status', message: `status ${code}` }));
};

for (const code of [404, 409, 422]) {
  test(`keys that are refused with ${code} repeatedly are logged once`, async (t) => {
    const { it, requests, text } = caInjector(() => refused(code));
    it.start();
    t.after(() => it.stop());
    let output = '';
    const until = async (turns: number): Promise<string> => {
      const end = performance.now() + 30_000;
      while (requests() < turns) {
        assert.ok(performance.now() < end, `${requests()} of ${turns} turns`);
        await sleep(20);
      }
      return (output += text());
    };
    assert.doesNotMatch(await until(2), /not updated/, 'another replica may have been faster');
    await until(6);
    assert.equal(output.match(/webhook certificates not updated/g)?.length, 1, output);
    assert.match(output, new RegExp(`status ${code}`));
  });
}
