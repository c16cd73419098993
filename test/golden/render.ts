import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { scripts } from '../../constructs/frappe/scripts.generated.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { SynthStage } from '../../constructs/kit/synth.js';
import { memoize } from '../support/memoize.js';
import { changesOf } from './changes.js';
import type { Outcome } from './outcome.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
/** The nginx.conf of bench `demo-bench` in namespace `default`, which most scenarios share. */
export const NGINX_CONF = `${ROOT}test/golden/nginx.conf`;

/**
 * `objects.yaml`: every object of every graph, stage by stage, with a comment on how long it lives.
 * @param base a scenario that this one differs from: of its objects only the differences are written
 */
export function renderObjects(
  outcomes: readonly Outcome[],
  base?: { readonly name: string; readonly outcomes: readonly Outcome[] },
): string {
  const texts = knownTexts();
  const known = new Map(
    (base?.outcomes ?? []).flatMap(({ stages }) =>
      objectsOf(stages).map((object) => [nameOf(object), shown(object, texts)]),
    ),
  );
  const graphs = outcomes.map(({ resource, stages, batchObjects }) => {
    const requests = batchObjects.map(
      (note) => `---\n# request in the operator's memory\n${yaml(note)}`,
    );
    if (stages.length === 0) return [`# ${nameOf(resource)}: no objects.\n`, ...requests].join('');
    const graph = stages
      .map((stage, at) => {
        const objects = stage.objects.map((object) =>
          renderObject(shown(object, texts), known.get(nameOf(object)), base?.name ?? ''),
        );
        return headOf(resource, stage, at, stages[at - 1]) + objects.join('');
      })
      .join('');
    return [graph, ...requests].join('');
  });
  const here = new Set(outcomes.flatMap(({ stages }) => objectsOf(stages).map(nameOf)));
  const absent = [...known.keys()].filter((name) => !here.has(name));
  const without = here.size > 0 ? absent.map((name) => `# ${name}: absent\n`) : [];
  return [...graphs, ...without].join('');
}

/** `status.yaml`: the status of each resource, and the HTTP probes before it. */
export function renderStatus(outcomes: readonly Outcome[]): string {
  return outcomes
    .map(({ resource, probes, status }) => {
      const requests = probes.map(
        (probe) =>
          `# probe: GET ${probe.url} with Host ${probe.host} must ${
            'namespace' in probe
              ? `join ${probe.namespace} and send an event`
              : `answer ${probe.expectStatus} ${JSON.stringify(probe.expectBody)}`
          }\n`,
      );
      return `---\n# ${nameOf(resource)}\n${requests.join('')}${yaml({ status })}`;
    })
    .join('');
}

function headOf(
  resource: KubeObject,
  { name, waitForReady, blockedReason, advisory }: SynthStage,
  at: number,
  before: SynthStage | undefined,
): string {
  const start = before?.waitForReady ? ': when all of the stage before is ready' : '';
  const waits = waitForReady ? ' (what follows waits until all of it is ready)' : '';
  const free = advisory ? ' (nothing waits for it)' : '';
  const blocked = blockedReason === undefined ? '' : `# blocked: ${blockedReason}\n`;
  return `# ${nameOf(resource)}, stage ${at + 1}, ${name}${start}${waits}${free}\n${blocked}`;
}

function objectsOf(stages: readonly SynthStage[]): readonly KubeObject[] {
  return stages.flatMap(({ objects }) => objects);
}

function renderObject(object: Shown, known: Shown | undefined, base: string): string {
  const whole = `---\n# ${object.fate}\n${yaml(object.body)}`;
  if (!known) return whole;
  const fate = known.fate === object.fate ? [] : [`# ${object.fate}\n`];
  const changes = changesOf(known.body, object.body);
  if (Object.keys(changes).length + fate.length === 0) return `# ${object.name}: as in ${base}\n`;
  const rest = Object.keys(changes).length === 0 ? '' : yaml(changes);
  const brief = `---\n# ${object.name}: as in ${base}, but\n${fate.join('')}${rest}`;
  return brief.length < whole.length / 2 ? brief : whole;
}

interface Shown {
  readonly name: string;
  /** How long it lives. */
  readonly fate: string;
  readonly body: KubeObject;
}

/** Owner references are all alike, so a word stands in for them. */
function shown(object: KubeObject, texts: ReadonlyMap<string, string>): Shown {
  const { ownerReferences, ...metadata } = object.metadata;
  const [owner] = ownerReferences ?? [];
  return {
    name: nameOf(object),
    fate: owner ? `goes with ${owner.kind} ${owner.name}` : 'stays when its owner goes',
    body: withoutTexts({ ...object, metadata }, texts),
  };
}

/** Files that a ConfigMap carries are named where they are equal to one of the repository. */
function withoutTexts(object: KubeObject, texts: ReadonlyMap<string, string>): KubeObject {
  if (object.kind !== 'ConfigMap') return object;
  const { data } = object as KubeObject & { readonly data: Readonly<Record<string, string>> };
  const named = Object.entries(data).map(([key, text]) => {
    const file = texts.get(text);
    return [key, file === undefined ? text : `(the text of ${file})`];
  });
  return { ...object, data: Object.fromEntries(named) as unknown } as KubeObject;
}

const knownTexts = memoize((): ReadonlyMap<string, string> => {
  const files = readdirSync(`${ROOT}jobs`, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(py|sh)$/.test(path))
    .map((path) => `jobs/${path}`);
  const known = [...files, 'test/golden/nginx.conf'].map(
    (path) => [readFileSync(`${ROOT}${path}`, 'utf8'), path] as const,
  );
  const constants = [scripts['constants.sh'], 'jobs/common/operator_constants.py'] as const;
  return new Map([...known, constants]);
});

function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.name}`;
}

function yaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}
