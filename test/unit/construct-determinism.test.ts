import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { canonicalJson } from '../../constructs/kit/json/hash.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { kindId } from '../../constructs/kit/object-kind.js';
import { BATCHES, DEFINITIONS } from '../../constructs/registry.js';
import { kindOf, type Outcome, outcomesOf, reconcileScenario } from '../golden/outcome.js';
import { readScenario, scenarioNames, type Scenario } from '../golden/scenario.js';

/** The same data with the fields of every object in the opposite order. */
function reversed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(reversed) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, reversed<unknown>(inner)]);
  return Object.fromEntries(entries.reverse()) as T;
}

function shuffled(scenario: Scenario): Scenario {
  return {
    ...reversed(scenario),
    // Resources stay in the order of the file, which is that of the rendering.
    admissions: scenario.admissions.map(reversed),
    objects: scenario.objects.map(reversed).reverse(),
    serves: [...scenario.serves].reverse(),
  };
}

/** The text of all that is made, in its order. Fields of an earlier status may be in another order. */
const textOf = (outcomes: readonly Outcome[]) =>
  outcomes
    .map(({ stages, probes, batchObjects, status }) => [
      { stages, probes, batchObjects },
      canonicalJson(status),
    ])
    .map((parts) => JSON.stringify(parts))
    .join('\n');

suite('the same input makes the same objects and the same status, byte for byte', () => {
  for (const name of scenarioNames()) {
    const scenario = readScenario(name);
    test(`${name}: twice`, () => {
      assert.equal(textOf(reconcileScenario(scenario)), textOf(outcomesOf(scenario)));
    });
    test(`${name}: with its fields and the reader's objects in another order`, () => {
      assert.equal(textOf(reconcileScenario(shuffled(scenario))), textOf(outcomesOf(scenario)));
    });
  }
});

/** Remembers what was read of it. */
class RecordingReader extends StaticReader {
  readonly read = new Set<string>();

  override get<O extends KubeObject, T>(
    kind: string,
    namespace: string,
    name: string,
    pick: (object: O) => T,
  ): T | undefined {
    this.read.add(kind);
    return super.get<O, T>(kind, namespace, name, pick);
  }
}

suite('what a kind reads is watched', () => {
  for (const name of scenarioNames()) {
    test(name, () => {
      const { admissions, objects, serves, settings } = readScenario(name);
      const resources = admissions.map(({ object }) => object);
      for (const resource of resources) {
        const kind = kindOf(resource);
        const reader = new RecordingReader({
          objects: [...resources, ...objects],
          serves,
          settings,
        });
        try {
          kind.resolve(resource, reader);
          kind.cleanup.blockers(resource, reader);
        } catch {
          // What is missing was read before it was missed.
        }
        const watched = [
          ...DEFINITIONS.map((definition) => definition.kind),
          ...[...kind.owns, ...kind.reads].map((owned) => owned.kind),
          // Notes are in the operator's memory.
          ...BATCHES.map(({ progress }) => progress),
          'DocumentResult',
          'ConfigurationResult',
        ];
        for (const read of reader.read) assert.ok(watched.includes(read), read);
      }
    });
  }
});

test('every object that a scenario makes is of a kind that its resource owns', () => {
  for (const name of scenarioNames()) {
    for (const { resource, stages } of outcomesOf(readScenario(name))) {
      const owned = kindOf(resource).owns.map(kindId);
      for (const object of stages.flatMap(({ objects }) => objects)) {
        assert.ok(owned.includes(kindId(object)), `${name}: ${object.kind}`);
      }
    }
  }
});

test('every kind that is owned is made in some scenario', () => {
  const made = new Set(
    scenarioNames()
      .flatMap((name) => outcomesOf(readScenario(name)))
      .flatMap(({ resource, stages }) =>
        stages.flatMap(({ objects }) => objects.map(({ kind }) => `${resource.kind}: ${kind}`)),
      ),
  );
  for (const kind of ['AppBench', 'AppSite']) {
    for (const owned of kindOf({ apiVersion: '', kind, metadata: { name: '' } }).owns) {
      assert.ok(made.has(`${kind}: ${owned.kind}`), `${kind}: ${owned.kind}`);
    }
  }
});
