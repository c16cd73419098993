import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';

import { INTEGRATIONS } from '../../constructs/integrations/index.js';
import { Stalled, Waiting } from '../../constructs/kit/errors.js';
import { healthOf, type Observable } from '../../constructs/kit/health.js';
import { kindsOf } from '../../constructs/kit/integration.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import { distinctKinds } from '../../constructs/kit/object-kind.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { synthesize } from '../../constructs/kit/synth.js';
import { BATCHES, KINDS, type AnyKind } from '../../constructs/registry.js';
import { checked, problemsOf } from '../../runner/cache/checked.js';
import { childOf, invalidChild } from '../../runner/cache/child.js';
import { ChildCache } from '../../runner/cache/child-cache.js';
import { DependencyTracker } from '../../runner/cache/dependencies.js';
import { isolated } from '../../runner/cache/invalid-objects.js';
import { referenceSink } from '../../runner/cache/readable-sink.js';
import { ResourceStore } from '../../runner/cache/store.js';
import { readScenario, scenarioNames } from '../golden/scenario.js';

/** Every kind that is read: a ninth kind and an eighth integration come by themselves. */
const READ_KINDS = distinctKinds([
  ...KINDS.flatMap(({ owns, reads }) => [...owns, ...reads]),
  ...INTEGRATIONS.flatMap(kindsOf),
]);
const METADATA_KEYS = metadataKeysFor('app-operator.io');
/** The same cases each time; the environment names another seed, or more runs, to look for others. */
const RUNS = {
  seed: Number(process.env['TEST_SEED'] ?? 15),
  numRuns: Number(process.env['TEST_RUNS'] ?? 150),
};

/** Runs that get past the checks of the schema: without them nothing is tested. */
const LEAST = RUNS.numRuns / 5;

const deep = fc.integer({ min: 1, max: 3_000 }).map((levels) => {
  let value: unknown = 'end';
  for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { a: value };
  return value;
});
/** Anything that JSON can be. */
const anything: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 8, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 2, arbitrary: fc.constantFrom(null, [], {}, '', 0, -1, Infinity, '__proto__', [null]) },
  { weight: 1, arbitrary: deep },
);
const condition = fc.oneof(
  anything,
  fc.record(
    {
      type: fc.oneof(
        fc.constantFrom('Ready', 'Failed', 'Issuing', 'Admitted', 'Stalled'),
        anything,
      ),
      status: fc.oneof(fc.constantFrom('True', 'False', 'Unknown'), anything),
      reason: anything,
      message: anything,
    },
    { requiredKeys: [] },
  ),
);
const conditions = fc.oneof(anything, fc.array(condition, { maxLength: 3 }));
/** A status as another operator may write it, wrong in any place. */
const status = fc.oneof(
  anything,
  fc.record(
    {
      conditions,
      ...{ observedGeneration: anything, phase: anything, message: anything, applied: anything },
      ...{ replicas: anything, updatedReplicas: anything, availableReplicas: anything },
      ...{ readyReplicas: anything, failed: anything, startTime: anything },
      ingress: fc.oneof(anything, fc.array(fc.oneof(anything, fc.record({ conditions })))),
    },
    { requiredKeys: [] },
  ),
);
const spec = fc.oneof(anything, fc.record({ replicas: anything, completions: anything }));
/** The API server validates metadata whatever became of a CRD. */
const metadata = fc.record(
  {
    name: fc.constantFrom('x', 'y'),
    namespace: fc.constant('default'),
    uid: fc.constant('u'),
    generation: fc.integer({ min: 1, max: 3 }),
    resourceVersion: fc.integer({ min: 1, max: 1_000 }).map(String),
    labels: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
    deletionTimestamp: fc.constant('2026-01-01T00:00:00Z'),
  },
  { requiredKeys: ['name', 'namespace', 'uid'] },
);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const foreign = fc.record({ metadata, spec: optional(spec), status: optional(status) });

describe('the health', () => {
  for (const kind of READ_KINDS) {
    test(`of a ${kind.apiVersion} ${kind.kind} is always known`, () => {
      fc.assert(
        fc.property(foreign, (object) => {
          const read = { apiVersion: kind.apiVersion, kind: kind.kind, ...object };
          const health = healthOf(read as unknown as Observable, kind.health);
          assert.equal(typeof health.state, 'string');
          assert.equal(typeof health.message, 'string');
        }),
        RUNS,
      );
    });
  }
});

describe('the record of a child', () => {
  for (const kind of READ_KINDS) {
    test(`of kind ${kind.apiVersion} ${kind.kind} can always be made`, () => {
      fc.assert(
        fc.property(foreign, (rest) => {
          const object = { apiVersion: kind.apiVersion, kind: kind.kind, ...rest } as KubeObject;
          try {
            childOf(kind, object, METADATA_KEYS);
          } catch (error) {
            invalidChild(kind, object, METADATA_KEYS, error);
          }
          const children = new ChildCache(METADATA_KEYS, () => undefined);
          children.sink(kind, () => true).upsert(object);
          assert.equal(children.size, 1);
        }),
        RUNS,
      );
    });
  }
});

const scenarios = scenarioNames().map((name) => readScenario(name));
const resources = scenarios.flatMap((scenario) =>
  scenario.admissions.map(({ object }) => ({ scenario, object })),
);

/** A place in a piece of JSON, and what to put there; undefined removes it. */
interface Mutation {
  readonly steps: readonly number[];
  readonly value: unknown;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  steps: fc.array(fc.nat(11), { minLength: 1, maxLength: 5 }),
  value: optional(anything),
});

/** Puts a value somewhere: each step chooses one of the fields. */
function mutated(value: unknown, [step, ...rest]: readonly number[], put: unknown): unknown {
  if (step === undefined || typeof value !== 'object' || value === null) return put;
  const names = Object.keys(value);
  const name = names[step % Math.max(1, names.length)];
  if (name === undefined) return put;
  const child = mutated((value as Record<string, unknown>)[name], rest, put);
  if (Array.isArray(value))
    return value.map((item, i) => (String(i) === name ? child : item) as unknown);
  const { [name]: _old, ...others } = value as Record<string, unknown>;
  return child === undefined ? others : { ...others, [name]: child };
}

/** A resource of a scenario with mutations of its spec and status. */
function poisoned(object: Resource, part: 'spec' | 'status', mutations: readonly Mutation[]) {
  let value: unknown = part === 'spec' ? object.spec : (object.status ?? { phase: 'Ready' });
  for (const { steps, value: put } of mutations) value = mutated(value, steps, put);
  return { ...object, [part]: value } as Resource;
}

/** A reader of what the runner's caches would show of objects. */
function readerOf(objects: readonly KubeObject[], scenario: (typeof scenarios)[number]) {
  const indexes = [
    ...KINDS.flatMap((kind) => kind.indexes),
    ...BATCHES.map(({ requests }) => requests),
  ];
  const dependencies = new DependencyTracker({
    ...{ settings: scenario.settings, indexes, enqueue: () => undefined, now: () => 0 },
  });
  for (const object of objects) {
    const key = `${object.metadata.namespace ?? 'default'}/${object.metadata.name}`;
    dependencies.update(object.kind, key, object);
  }
  const served = new StaticReader({ objects: [], serves: scenario.serves });
  const { reader } = dependencies.track('test/default/x');
  return { ...reader, serves: (kind: Parameters<typeof served.serves>[0]) => served.serves(kind) };
}

/**
 * What a reconcile of a resource would come to; an expected error is a result.
 * @returns whether the schema accepts it
 */
function reconciled(
  kind: AnyKind,
  resource: Resource,
  reader: ReturnType<typeof readerOf>,
): boolean {
  if (problemsOf(resource).length > 0) return false;
  if (admit(kind.definition, resource).problems.length > 0) return false;
  try {
    const inputs = kind.resolve(resource, reader);
    const stages = synthesize((scope, id) => kind.chart(scope, id, { resource, inputs }));
    const health = { state: 'InProgress', message: 'x' } as const;
    const pending = stages
      .flatMap(({ objects }) => objects)
      .slice(0, 1)
      .map((object) => ({ kind: object.kind, name: object.metadata.name, health }));
    for (const ready of [true, false]) {
      kind.evaluate({
        ...{ resource, inputs, pending: ready ? [] : pending, runs: [], probes: [] },
        ...{ complete: ready, ready, child: () => undefined },
      });
    }
  } catch (error) {
    if (!(error instanceof Stalled) && !(error instanceof Waiting)) throw error;
  }
  return true;
}

for (const kind of KINDS) {
  const name = kind.definition.kind;
  const own = resources.filter(({ object }) => object.kind === name);
  describe(`${name} from mutated scenarios`, () => {
    const subject = fc.record({
      pick: fc.nat(own.length - 1),
      part: fc.constantFrom<'spec' | 'status'>('spec', 'status'),
      mutations: fc.array(mutation, { minLength: 1, maxLength: 3 }),
    });
    const made = ({
      pick,
      part,
      mutations,
    }: typeof subject extends fc.Arbitrary<infer T> ? T : never) => {
      const { object, scenario } = own[pick] ?? assert.fail();
      const stored = poisoned(object, part, mutations);
      return { scenario, stored, before: object };
    };

    test('are parsed, compared, hashed and indexed, or reported', async () => {
      await fc.assert(
        fc.asyncProperty(subject, async (value) => {
          const { stored, before } = made(value);
          const failures: unknown[] = [];
          const dependencies = new DependencyTracker({
            ...{ settings: scenarios[0]?.settings ?? assert.fail(), indexes: kind.indexes },
            ...{ enqueue: () => undefined, now: () => 0 },
          });
          const store = new ResourceStore({
            ...{ definition: kind.definition, onCount: () => undefined, enqueue: () => undefined },
            onChange: (key, object) => dependencies.update(name, key, object),
          });
          const sink = isolated(name, store, (_kind, _key, _stage, error) => failures.push(error));
          const at = (object: KubeObject, version: string, generation: number): KubeObject => ({
            ...object,
            metadata: { ...object.metadata, resourceVersion: version, generation },
          });
          await sink.replace([at(before, '1', 1)], '1');
          sink.upsert(at(stored, '2', 2));
          sink.upsert(at({ ...stored, metadata: { ...stored.metadata, labels: {} } }, '3', 2));
          sink.remove(at(stored, '4', 2));
          assert.deepEqual(failures, []);
          assert.equal(dependencies.objects(name).size, 0);
        }),
        RUNS,
      );
    });

    /** A mutated resource as the caches have it, and a reader of all objects of its scenario. */
    const world = (value: Parameters<typeof made>[0]) => {
      const { scenario, stored } = made(value);
      const resource = checked(kind.definition, stored);
      const others = scenario.admissions
        .map(({ object }) => object)
        .filter((other) => other.kind !== name || other.metadata.name !== resource.metadata.name);
      const reader = readerOf([...others, ...scenario.objects, resource], scenario);
      return { resource, others, reader };
    };

    test('come to a status or to an error that names what is wrong', () => {
      let accepted = 0;
      fc.assert(
        fc.property(subject, (value) => {
          const { resource, reader } = world(value);
          accepted += Number(reconciled(kind, resource, reader));
        }),
        RUNS,
      );
      assert.ok(accepted >= LEAST, `the schema accepts ${accepted}`);
    });

    test('never stop the other resources', () => {
      fc.assert(
        fc.property(subject, (value) => {
          const { others, reader } = world(value);
          for (const other of others) {
            const ofOther = KINDS.find(({ definition }) => definition.kind === other.kind);
            if (ofOther) reconciled(ofOther, other, reader);
          }
        }),
        RUNS,
      );
    });

    test('are cleaned up, also where a rule refuses their spec', () => {
      let readable = 0;
      fc.assert(
        fc.property(subject, (value) => {
          const { resource, reader } = world(value);
          if (problemsOf(resource).length > 0) return;
          readable += 1;
          const { cleanup } = kind;
          cleanup.needed(resource);
          cleanup.retainsData?.(resource);
          try {
            cleanup.blockers(resource, reader);
            synthesize((scope, id) => cleanup.chart(scope, id, resource, reader));
          } catch (error) {
            if (!(error instanceof Stalled) && !(error instanceof Waiting)) throw error;
          }
        }),
        RUNS,
      );
      assert.ok(readable >= LEAST, `${readable} are readable`);
    });
  });
}

describe('objects of other operators in mutated scenarios', () => {
  const objects = scenarios.flatMap((scenario) =>
    scenario.objects
      .filter(({ kind }) => !KINDS.some(({ definition }) => definition.kind === kind))
      .map((object) => ({ scenario, object })),
  );
  test('never break the resources that read them', () => {
    fc.assert(
      fc.property(
        fc.nat(objects.length - 1),
        fc.array(mutation, { minLength: 1, maxLength: 3 }),
        fc.constantFrom<'spec' | 'status'>('spec', 'status'),
        (pick, mutations, part) => {
          const { scenario, object } = objects[pick] ?? assert.fail();
          const bad = poisoned(object as Resource, part, mutations);
          const read = READ_KINDS.find(({ kind }) => kind === object.kind);
          const shown: KubeObject[] = [];
          const dependencies = {
            objects: () => new Map<string, KubeObject>(),
            update: (_kind: string, _key: string, after: KubeObject | undefined) =>
              shown.push(...(after ? [after] : [])),
          } as unknown as DependencyTracker;
          const sink = read && referenceSink(read, dependencies, () => true);
          if (sink) isolated(read.kind, sink, () => undefined).upsert(bad);
          const others = scenario.objects.filter((other) => other !== object);
          const ours = scenario.admissions.map(({ object: one }) => one);
          const reader = readerOf([...others, ...shown, ...ours], scenario);
          for (const resource of ours) {
            const kind = KINDS.find(({ definition }) => definition.kind === resource.kind);
            if (kind) reconciled(kind, resource, reader);
          }
        },
      ),
      RUNS,
    );
  });
});
