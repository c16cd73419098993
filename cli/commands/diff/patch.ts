import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { styleText } from 'node:util';
import type { KubeObject } from '../../../constructs/kit/object.js';
import { LAST_APPLIED } from '../../../constructs/kit/well-known.js';
import { toYaml } from '../../io/yaml.js';

/** Fields of metadata that the API server sets. */
const SERVER_FIELDS = [
  ...['managedFields', 'resourceVersion', 'uid', 'creationTimestamp', 'generation', 'selfLink'],
];
/** Labels that the API server adds to a Job and its pods. */
const JOB_LABELS = ['controller-uid', 'batch.kubernetes.io/controller-uid'];
const MASK = '***';

type Data = Readonly<Record<string, string>>;
type Loose = KubeObject & Readonly<Record<string, unknown>>;

/** A unified patch from one object to another; empty without a difference. Values of Secrets are masked. */
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

/** The patch with colours for a terminal. */
export function painted(patch: string): string {
  const paint = (line: string): string => {
    const colour = /^(\+\+\+|---)/.test(line)
      ? 'bold'
      : ({ '+': 'green', '-': 'red', '@': 'cyan' } as const)[line.charAt(0)];
    return colour ? styleText(colour, line, { validateStream: false }) : line;
  };
  return patch.split('\n').map(paint).join('\n');
}

/** An object without the fields that the API server sets. */
function plain(object: KubeObject): Loose {
  const { status: _, metadata, ...rest } = object as Loose;
  const { annotations = {}, ownerReferences, ...others } = metadata;
  const keptAnnotations = Object.entries(annotations).filter(([name]) => name !== LAST_APPLIED);
  const kept = Object.entries(others).filter(([name]) => !SERVER_FIELDS.includes(name));
  return sorted({
    ...rest,
    metadata: {
      ...Object.fromEntries(kept),
      ...(keptAnnotations.length > 0 ? { annotations: Object.fromEntries(keptAnnotations) } : {}),
      // A resource that does not exist yet has no uid.
      ...(ownerReferences
        ? { ownerReferences: ownerReferences.map(({ uid: _uid, ...reference }) => reference) }
        : {}),
    },
  }) as Loose;
}

/** A Job without the selector and labels that the API server adds. */
export function withoutRun(job: KubeObject): KubeObject {
  const strip = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((item: unknown) => strip(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value as Readonly<Record<string, unknown>>)
        .filter(
          ([name]) =>
            !JOB_LABELS.includes(name) && !/^(batch.kubernetes.io\/)?job-name$/.test(name),
        )
        .map(([name, inner]) => [name, strip(inner)]),
    );
  };
  const stripped = strip(job) as Loose;
  const { selector: _, ...spec } = stripped['spec'] as Readonly<Record<string, unknown>>;
  return { ...stripped, spec } as KubeObject;
}

/** Both objects with masked values, which mark the changed ones. */
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
