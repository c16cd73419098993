/**
 * Takes the README's picture of the dashboard: some minutes of a real run, with jobs that come and go, sites that are made,
 * and a bench that waits for its image.
 *
 *     node dist/lib/test/monitoring/take-picture.js docs/pictures/dashboard.svg [minutes]
 */
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { picture } from '../../tools/monitoring/picture.js';
import { aBench, aSite } from '../cluster/support/builders.js';
import { startWorld } from './world.js';

const [out, minutes = '6'] = process.argv.slice(2);
if (!out) throw new Error('usage: take-picture.js <file.svg> [minutes]');
const world = await startWorld('5s');
const { cluster, namespace, databases } = world;
const queue = (name: string): string => `rq:queue:${namespace}.b${name}`;
const rounds = Math.ceil((Number(minutes) * 60) / 10);
// Two workers that live, as real ones would sign in.
for (const [n, name] of [':short', ':long', '.shop:default'].entries()) {
  world.redis('HSET', `rq:worker:${n}`, 'state', 'busy');
  world.redis('SADD', `rq:workers:${namespace}.b${name}`, `rq:worker:${n}`);
}
const held: ReturnType<(typeof databases)[0]['hold']>[] = [];
for (let round = 0; round < rounds; round++) {
  const wave = Math.round(60 + 55 * Math.sin(round / 4));
  for (const [name, length] of [
    [':short', wave],
    [':long', round % 12],
    ['.shop:default', Math.round(wave / 3)],
  ] as const) {
    // prettier-ignore
    world.redis('DEL', queue(name));
    const jobs = Array.from({ length }, (_, n) => `job-${n}`);
    if (jobs.length > 0) world.redis('RPUSH', queue(name), ...jobs);
    world.redis(
      'ZADD',
      `rq:wip:${namespace}.b${name}`,
      String(Date.now() / 1000 + 20),
      `job-${round}`,
    );
  }
  if (round % 3 === 0 && held.length < 12) held.push(databases[round % 2 === 0 ? 0 : 1].hold(round % 2 === 0 ? 'mysql' : 'postgres', round % 2 === 0 ? 'db' : 'pg_class')); // prettier-ignore
  if (round % 4 === 1) await cluster.apply(namespace, aSite(`site-${round}`, { bench: 'b' }));
  if (round === 8)
    await cluster.apply(namespace, aBench('second', { apps: [{ name: 'erpnext' }] }));
  if (round === 14) await cluster.apply(namespace, aSite('other', { bench: 'second' }));
  await sleep(10_000);
}
writeFileSync(out, await picture(world.prometheus, Number(minutes)));
await Promise.all(held.map(({ stop }) => stop('SIGKILL')));
await world.stop();
process.exit(0);
