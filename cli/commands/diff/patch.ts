import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { styleText } from 'node:util';
import type { KubeObject } from '../../../constructs/kit/object.js';
import { LAST_APPLIED } from '../../kube/kinds.js';
import { toYaml } from '../../io/yaml.js';

/** Written by the API server at each change. */
const OF_THE_SERVER = [
  ...['managedFields', 'resourceVersion', 'uid', 'creationTimestamp', 'generation', 'selfLink'],
];
const LABELS_OF_A_RUN = ['controller-uid', 'batch.kubernetes.io/controller-uid'];
const MASK = '***';

type Data = Readonly<Record<string, string>>;
type Loose = KubeObject & Readonly<Record<string, unknown>>;

/** A unified patch from one object to another; empty where they say the same. Values of Secrets are masked. */
export function patchOf(
  id: string,
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): string {
  const [old, now] = masked(before && plain(before), after && plain(after));
  const [oldText, newText] = [old, now].map((object) => (object ? toYaml([object]) : ''));
  if (oldText === newText) return '';
  return createTwoFilesPatch(
    before ? `live/${id}` : '/dev/null',
    after ? `new/${id}` : '/dev/null',
    oldText ?? '',
    newText ?? '',
    undefined,
    undefined,
    { context: 3, headerOptions: FILE_HEADERS_ONLY },
  );
}

/** The patch as a terminal shows it. */
export function painted(patch: string): string {
  const paint = (line: string): string => {
    const colour = /^(\+\+\+|---)/.test(line)
      ? 'bold'
      : ({ '+': 'green', '-': 'red', '@': 'cyan' } as const)[line.charAt(0)];
    return colour ? styleText(colour, line, { validateStream: false }) : line;
  };
  return patch.split('\n').map(paint).join('\n');
}

/** An object without what the API server adds by itself. */
function plain(object: KubeObject): Loose {
  const { status: _, metadata, ...rest } = object as Loose;
  const { annotations = {}, ownerReferences, ...others } = metadata;
  const notes = Object.entries(annotations).filter(([name]) => name !== LAST_APPLIED);
  const kept = Object.entries(others).filter(([name]) => !OF_THE_SERVER.includes(name));
  return sorted({
    ...rest,
    metadata: {
      ...Object.fromEntries(kept),
      ...(notes.length > 0 ? { annotations: Object.fromEntries(notes) } : {}),
      // A resource that is not there yet has no uid.
      ...(ownerReferences
        ? { ownerReferences: ownerReferences.map(({ uid: _uid, ...reference }) => reference) }
        : {}),
    },
  }) as Loose;
}

/** A Job as it was before the API server gave it what selects its pods. */
export function withoutRun(job: KubeObject): KubeObject {
  const strip = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((item: unknown) => strip(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value as Readonly<Record<string, unknown>>)
        .filter(
          ([name]) =>
            !LABELS_OF_A_RUN.includes(name) && !/^(batch.kubernetes.io\/)?job-name$/.test(name),
        )
        .map(([name, inner]) => [name, strip(inner)]),
    );
  };
  const stripped = strip(job) as Loose;
  const { selector: _, ...spec } = stripped['spec'] as Readonly<Record<string, unknown>>;
  return { ...stripped, spec } as KubeObject;
}

/** Both objects with their secret values hidden, so that it can be told which are other ones. */
function masked(
  before: Loose | undefined,
  after: Loose | undefined,
): readonly [Loose | undefined, Loose | undefined] {
  if ((before ?? after)?.kind !== 'Secret') return [before, after];
  const [old, now] = [before, after].map((object) => dataOf(object));
  const hide = (object: Loose | undefined, mine: Data, other: Data, word: string) => {
    if (!object) return undefined;
    const { stringData: _, ...rest } = object;
    const hidden = Object.entries(mine).map(([key, value]): [string, string] => {
      const differs = other[key] !== undefined && other[key] !== value;
      return [key, differs ? `${MASK} (${word})` : MASK];
    });
    return sorted({ ...rest, data: Object.fromEntries(hidden) }) as Loose;
  };
  return [hide(before, old ?? {}, now ?? {}, 'before'), hide(after, now ?? {}, old ?? {}, 'after')];
}

function dataOf(secret: Loose | undefined): Data {
  const { data = {}, stringData = {} } = (secret ?? {}) as { data?: Data; stringData?: Data };
  const encoded = Object.entries(stringData).map(([key, value]) => [
    key,
    Buffer.from(value).toString('base64'),
  ]);
  return { ...data, ...Object.fromEntries(encoded) } as Data;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
