import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** What V8 writes with `--cpu-prof`. */
interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  /** The node of each sample. */
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  readonly children?: readonly number[];
}

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
}

interface Area {
  readonly name: string;
  readonly includes: (frame: CallFrame) => boolean;
}

const at = (pattern: RegExp) => (frame: CallFrame) => pattern.test(frame.url);
const called = (pattern: RegExp) => (frame: CallFrame) => pattern.test(frame.functionName);

/** The first area that includes a frame has it. A frame of none belongs to its caller's. */
const AREAS: readonly Area[] = [
  { name: 'idle', includes: called(/^\(idle\)$/) },
  { name: 'garbage collection', includes: called(/^\(garbage collector\)$/) },
  { name: 'loading of modules', includes: at(/internal\/modules|cjs\/loader/) },
  {
    name: 'canonical JSON, hashing',
    includes: at(/kit\/json\/(hash|depth)\.js|internal\/crypto\/hash/),
  },
  { name: 'comparing', includes: at(/kit\/json\/equal\.js|internal\/util\/comparisons/) },
  { name: 'cdk8s', includes: at(/node_modules\/(cdk8s|cdk8s-plus-\d+|constructs)\//) },
  { name: 'HTTP (undici)', includes: at(/node_modules\/undici|internal\/deps\/undici/) },
  {
    name: 'sockets, TLS, streams',
    includes: at(/^node:(_tls|net|tls|internal\/(streams?|tls)|stream)/),
  },
  { name: 'client, JSON of requests and events', includes: at(/\/runner\/api\//) },
  { name: 'metrics', includes: at(/prom-client|telemetry\/(metrics|job-metrics)/) },
  { name: 'log', includes: at(/winston|logform|triple-beam|runner\/telemetry\//) },
  { name: 'fields of children', includes: at(/cache\/(managed-fields|child)\.js/) },
  { name: 'caches', includes: at(/\/runner\/cache\//) },
  { name: 'schemas', includes: at(/constructs\/kit\/schema\//) },
  { name: 'kinds: inputs, charts, status', includes: at(/\/constructs\//) },
  { name: 'apply and prune', includes: at(/\/runner\/apply\//) },
  { name: 'reconcile', includes: at(/\/runner\//) },
];
const OTHERS = 'V8 and Node.js';

/** Milliseconds of each area, most first; without idle time. */
export function foldProfile(profile: CpuProfile): ReadonlyMap<string, number> {
  const areas = areasOf(profile);
  const times = new Map<string, number>();
  for (const [index, id] of profile.samples.entries()) {
    const area = areas.get(id) ?? OTHERS;
    times.set(area, (times.get(area) ?? 0) + (profile.timeDeltas[index] ?? 0) / 1000);
  }
  times.delete('idle');
  return new Map([...times].sort(([, a], [, b]) => b - a));
}

/** The area of each node. */
function areasOf({ nodes }: CpuProfile): ReadonlyMap<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const areas = new Map<number, string>();
  const pending: [ProfileNode, string][] = nodes.slice(0, 1).map((root) => [root, OTHERS]);
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [{ id, callFrame, children = [] }, inherited] = next;
    const area = AREAS.find(({ includes }) => includes(callFrame))?.name ?? inherited;
    areas.set(id, area);
    for (const child of children) {
      const node = byId.get(child);
      if (node) pending.push([node, area]);
    }
  }
  return areas;
}

/** The profile that was written last into a folder. */
export async function readProfile(folder: string): Promise<CpuProfile> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.cpuprofile')).sort();
  const last = names.at(-1);
  if (last === undefined) throw new Error(`${folder}: has no CPU profile`);
  return JSON.parse(await readFile(path.join(folder, last), 'utf8')) as CpuProfile;
}
