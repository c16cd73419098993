import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { mock, test } from 'node:test';

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
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

for (const code of [404, 409, 422]) {
  test(`keys that are refused with ${code} repeatedly are logged once`, async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    t.after(() => mock.timers.reset());
    const { it, requests, text } = caInjector(() => refused(code));
    it.start();
    t.after(() => it.stop());
    const until = async (turns: number): Promise<string> => {
      for (let i = 0; i < 500 && requests() < turns; i++) {
        mock.timers.tick(5_000);
        await soon();
      }
      await soon();
      assert.ok(requests() >= turns, `${requests()} of ${turns} turns`);
      return text();
    };
    assert.doesNotMatch(await until(2), /not updated/, 'another replica may have been faster');
    const output = await until(20);
    assert.equal(output.match(/webhook certificates not updated/g)?.length, 1, output);
    assert.match(output, new RegExp(`status ${code}`));
  });
}
