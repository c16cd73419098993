import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { Chart } from 'cdk8s';
import { bench } from '../../constructs/kinds/bench/index.js';
import { evaluatePhase } from '../../constructs/frappe/tree-status.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { AnyKind } from '../../constructs/registry.js';
import { ProbeManager } from '../../runner/health/probe-manager.js';
import type { Status } from '../../runner/plan/resource-status.js';
import { aController } from '../unit/controller-builder.js';
import { BENCH } from '../unit/plan-builder.js';

/** A kind whose resources have no children, and one check. */
const checked = (url: string): AnyKind => ({
  definition: bench.definition,
  owns: [],
  reads: [],
  references: [],
  reasons: {},
  durableStatus: [],
  indexes: [],
  resolve: () => ({}),
  chart: (scope, id) => new Chart(scope, id),
  probes: () => [{ url, host: 'a', expectStatus: 200, expectBody: { message: 'pong' } }],
  evaluate: evaluatePhase,
  cleanup: { needed: () => false, blockers: () => undefined, chart: () => undefined },
});

/** A server that answers as the test says, and the statuses that are written. */
async function aSite(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const answers = { status: 200, hold: false, count: 0 };
  const server = createServer((_, response) => {
    answers.count += 1;
    if (!answers.hold) response.writeHead(answers.status).end('{"message":"pong"}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const clock = { now: 0 };
  const written: string[] = [];
  let resource: Resource = BENCH;
  const start = (): { readonly stop: () => Promise<void> } => {
    const probes = new ProbeManager({
      enqueue: () => controller.queue.add('n/b'),
      monotonic: () => clock.now,
      random: () => 0.999,
    });
    const { controller, update } = aController(
      checked(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
      (answer) => {
        const { phase, conditions } = (answer as Resource<unknown, Status>).status ?? {};
        const ready = conditions?.find(({ type }) => type === 'Ready');
        written.push(`${phase ?? ''}: ${ready?.message ?? ''}`);
        resource = answer;
      },
      () => clock.now,
      probes,
    );
    update('b', resource);
    controller.queue.start();
    controller.queue.add('n/b');
    return {
      stop: async () => {
        await probes.stop();
        await controller.queue.stop();
      },
    };
  };
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const pass = (ms: number): void => {
    clock.now += ms;
    t.mock.timers.tick(ms);
  };
  return { start, answers, written, pass };
}

const until = async (condition: () => boolean): Promise<void> => {
  for (let turn = 0; !condition(); turn++) {
    if (turn > 1_000_000) throw new Error('it does not come true');
    await new Promise(setImmediate);
  }
};
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
};

test('a site becomes Ready with the first pong, without which its reconciles end', async (t) => {
  const { start, answers, written } = await aSite(t);
  answers.hold = true;
  const operator = start();
  await until(() => answers.count === 1 && written.length === 1);
  assert.deepEqual(written, ['Provisioning: waiting for the first answer']);
  await operator.stop();
  answers.hold = false;
  const next = start();
  await until(() => written.length === 2);
  assert.equal(written[1], 'Ready: everything is available');
  await next.stop();
});

test('a site that was Ready and fails is noticed within a minute, and so is its recovery', async (t) => {
  const { start, answers, written, pass } = await aSite(t);
  const operator = start();
  await until(() => written.at(-1)?.startsWith('Ready') === true);
  const before = written.length;
  answers.status = 502;
  await turns();
  pass(60_000);
  await until(() => written.length > before);
  assert.match(written.at(-1) ?? '', /^Updating: GET \/ for a: expected status 200, got 502$/);
  answers.status = 200;
  await turns();
  pass(500);
  await until(() => written.length > before + 1);
  assert.match(written.at(-1) ?? '', /^Ready: /);
  await operator.stop();
});

test('a restart writes nothing for a site that answers, and checks it at once', async (t) => {
  const { start, answers, written } = await aSite(t);
  const operator = start();
  await until(() => written.at(-1)?.startsWith('Ready') === true);
  await operator.stop();
  const [before, asked] = [written.length, answers.count];
  const next = start();
  await until(() => answers.count > asked);
  await turns();
  assert.equal(written.length, before);
  await next.stop();
  answers.status = 502;
  const last = start();
  await until(() => written.length > before);
  assert.match(written.at(-1) ?? '', /^Updating: .* got 502$/);
  await last.stop();
});
