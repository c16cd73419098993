import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { MALLOC, NODE_FLAGS } from '../../testbed/operator-process.js';
import type { Started, Usage } from '../../testbed/webhook-process.js';

const MIB = 1024 * 1024;
/** As the test of the bounds: as little heap as a container of 512 MiB has left, and the image's flags. */
const FLAGS = ['--expose-gc', '--max-old-space-size=96', ...NODE_FLAGS];
const SAMPLES = 20;

export interface AdmissionFigure {
  readonly what: string;
  readonly bytes: number;
  /** Milliseconds until a review is answered; the median, and the longest. */
  readonly median: number;
  readonly longest: number;
  /** The longest time in which a small review is answered meanwhile, in milliseconds. */
  readonly others: number;
  /** MiB that the process has grown by afterwards, garbage collected. */
  readonly grown: number;
}

/** How long the largest reviews take that no schema would admit, and how long others wait meanwhile. */
export async function measureAdmission(): Promise<readonly AdmissionFigure[]> {
  const module = fileURLToPath(new URL('../../testbed/webhook-process.js', import.meta.url));
  const child = fork(module, { execArgv: FLAGS, env: { ...process.env, ...MALLOC } });
  const [started] = (await once(child, 'message')) as [Started];
  const agent = new Agent({ connect: { ca: started.ca }, connections: 8 });
  const post = async (body: string): Promise<number> => {
    const url = `https://127.0.0.1:${started.port}/validate`;
    const begun = performance.now();
    const answer = await request(url, { dispatcher: agent, method: 'POST', body });
    await answer.body.dump();
    if (answer.statusCode !== 200)
      throw new Error(`a review is answered with ${answer.statusCode}`);
    return performance.now() - begun;
  };
  // What is compiled and allocated once is there before anything is measured.
  for (let i = 0; i < SAMPLES; i++) await post(BODIES[i % BODIES.length]?.[1] ?? SMALL);
  const figures: AdmissionFigure[] = [];
  for (const [what, body] of BODIES) figures.push(await measure(what, body, { child, post }));
  await agent.close();
  child.kill();
  return figures;
}

async function measure(
  what: string,
  body: string,
  { child, post }: { child: ChildProcess; post: (body: string) => Promise<number> },
): Promise<AdmissionFigure> {
  const before = await memory(child);
  const times: number[] = [];
  let others = 0;
  for (let i = 0; i < SAMPLES; i++) {
    const [time, other] = await Promise.all([post(body), post(SMALL)]);
    times.push(time);
    others = Math.max(others, other);
  }
  times.sort((a, b) => a - b);
  const grown = ((await memory(child)) - before) / MIB;
  const [median = 0, longest = 0] = [times[SAMPLES / 2], times.at(-1)];
  return { what, bytes: body.length, median, longest, others, grown };
}

async function memory(child: ChildProcess): Promise<number> {
  const answer = once(child, 'message') as Promise<[Usage]>;
  child.send('usage');
  return (await answer)[0].rss;
}

function review(spec: object | string): string {
  const text = typeof spec === 'string' ? spec : JSON.stringify(spec);
  const object = `{"apiVersion":"${DEFAULT_API_GROUP}/v1alpha1","kind":"AppSite","metadata":{"name":"x","namespace":"shop"},"spec":${text}}`;
  return (
    `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u1",` +
    `"kind":{"group":"${DEFAULT_API_GROUP}","version":"v1alpha1","kind":"AppSite"},` +
    `"operation":"CREATE","namespace":"shop","name":"x","object":${object},"oldObject":null}}`
  );
}

const SITE = { benchRef: { name: 'b' }, siteName: 'a.example.com' };
const SMALL = review(SITE);
const keys = (count: number): Readonly<Record<string, number>> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, i]));
const within = (affinity: string): string =>
  review(JSON.stringify({ ...SITE, podTemplate: { affinity: 0 } }).replace(':0', `:${affinity}`));

const NESTED = '['.repeat(92) + ']'.repeat(92);
/** Below the bounds of `body.ts`: what exceeds them is not parsed. */
const BODIES: readonly (readonly [what: string, body: string])[] = [
  ['a small object', SMALL],
  ['15,500 keys', within(JSON.stringify(keys(15_500)))],
  ['15,500 unknown fields', review({ ...SITE, ...keys(15_500) })],
  ['1,400 lists of 92 levels', within(`[${Array(1_400).fill(NESTED).join()}]`)],
];
