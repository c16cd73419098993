import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { KubeObject } from '../../constructs/kit/object.js';
import { containersOf, corpus, podTemplates, type Graph } from '../golden/corpus.js';

const GRAPHS = corpus();

function eachGraph(check: (graph: Graph) => void): void {
  for (const graph of GRAPHS) {
    try {
      check(graph);
    } catch (error) {
      throw new Error(graph.scenario, { cause: error });
    }
  }
}

function find({ objects, others }: Graph, kind: string, name: string): KubeObject | undefined {
  return [...objects, ...others].find(
    (object) => object.kind === kind && object.metadata.name === name,
  );
}

interface IngressSpec {
  readonly rules: readonly {
    readonly http: {
      readonly paths: readonly {
        readonly backend: {
          readonly service: { readonly name: string; readonly port: { readonly number: number } };
        };
      }[];
    };
  }[];
}

interface Selector {
  readonly matchLabels: Readonly<Record<string, string>>;
}

const specOf = <T>(object: KubeObject): T => (object as KubeObject & { readonly spec: T }).spec;
const includes = (
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
) => Object.entries(wanted).every(([key, value]) => labels[key] === value);

suite('every object that is referenced exists', () => {
  test('ConfigMaps and claims of volumes', () => {
    eachGraph((graph) => {
      for (const { of, spec } of podTemplates(graph.objects)) {
        for (const { configMap, persistentVolumeClaim: claim } of spec.volumes) {
          if (configMap) assert.ok(find(graph, 'ConfigMap', configMap.name), of);
          if (claim) assert.ok(find(graph, 'PersistentVolumeClaim', claim.claimName), of);
        }
      }
    });
  });
  test('Secrets, with the keys that are read', () => {
    eachGraph((graph) => {
      for (const pod of podTemplates(graph.objects)) {
        for (const { name, valueFrom } of containersOf(pod).flatMap(({ env = [] }) => env)) {
          if (!valueFrom?.secretKeyRef) continue;
          const { name: secret, key } = valueFrom.secretKeyRef;
          // Secrets of a deleted site go before its drop Job is made, so it must not need them.
          const found = find(graph, 'Secret', secret);
          assert.ok(found, `${pod.of}: ${name} is in Secret ${secret}`);
          const generated = found.metadata.annotations?.['app-operator.io/generate'];
          if (generated) assert.ok(key in (JSON.parse(generated) as object), `${secret}: ${key}`);
        }
      }
    });
  });
  test('scripts that commands run', () => {
    eachGraph((graph) => {
      for (const pod of podTemplates(graph.objects)) {
        const commands = containersOf(pod).flatMap(
          ({ command = [], livenessProbe, readinessProbe }) => [
            ...command,
            ...(livenessProbe?.exec?.command ?? []),
            ...(readinessProbe?.exec?.command ?? []),
          ],
        );
        for (const word of commands) {
          const [, file] = /^\/app-operator\/scripts\/(.+)$/.exec(word) ?? [];
          if (file === undefined) continue;
          const scripts = find(graph, 'ConfigMap', 'demo-bench-config') as unknown as {
            readonly data: Readonly<Record<string, string>>;
          };
          assert.ok(scripts.data[file], `${pod.of}: ${file}`);
        }
      }
    });
  });
  test('Services of an Ingress, and pods with the ports of a Service', () => {
    eachGraph((graph) => {
      const pods = podTemplates([...graph.objects, ...graph.others]);
      for (const object of graph.objects) {
        if (object.kind === 'Ingress') {
          for (const { backend } of specOf<IngressSpec>(object).rules.flatMap(
            (r) => r.http.paths,
          )) {
            const service = find(graph, 'Service', backend.service.name);
            assert.ok(service);
            const { ports } = specOf<{ ports: { port: number }[] }>(service);
            assert.ok(ports.some(({ port }) => port === backend.service.port.number));
          }
        }
        if (object.kind !== 'Service') continue;
        const { selector, ports } = specOf<{
          selector: Record<string, string>;
          ports: { targetPort: number }[];
        }>(object);
        const behind = pods.filter(({ labels }) => includes(labels, selector));
        assert.equal(behind.length, 1, object.metadata.name);
        const open = behind.flatMap(containersOf).flatMap(({ ports: list = [] }) => list);
        for (const { targetPort } of ports) {
          assert.ok(open.some(({ containerPort }) => containerPort === targetPort));
        }
      }
    });
  });
  // Which pods a NetworkPolicy is about: construct-network.test.ts.
  test('pods of a PodDisruptionBudget', () => {
    eachGraph((graph) => {
      const pods = podTemplates(graph.objects);
      for (const object of graph.objects) {
        if (object.kind !== 'PodDisruptionBudget') continue;
        const { matchLabels } = specOf<{ readonly selector: Selector }>(object).selector;
        assert.equal(pods.filter(({ labels }) => includes(labels, matchLabels)).length, 1);
      }
    });
  });
  test('workloads that KEDA scales have no number of replicas, and KEDA has a login', () => {
    eachGraph((graph) => {
      for (const object of graph.objects.filter(({ kind }) => kind === 'ScaledObject')) {
        const { scaleTargetRef, triggers } = specOf<{
          scaleTargetRef: { name: string };
          triggers: { authenticationRef: { name: string } }[];
        }>(object);
        const workload = find(graph, 'Deployment', scaleTargetRef.name);
        assert.ok(workload);
        assert.equal(specOf<{ replicas?: number }>(workload).replicas, undefined);
        for (const { authenticationRef } of triggers) {
          assert.ok(find(graph, 'TriggerAuthentication', authenticationRef.name));
        }
      }
    });
  });
});

suite('names of objects', () => {
  test('exist once for each kind', () => {
    eachGraph(({ objects }) => {
      const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      assert.equal(new Set(names).size, names.length);
    });
  });
  test('are in the namespace of their resource', () => {
    eachGraph(({ objects, resource }) => {
      for (const { metadata } of objects) {
        assert.equal(metadata.namespace, resource.metadata.namespace);
      }
    });
  });
  test('of one kind are not tails of others: two benches never want the same object', () => {
    const tails = new Set(
      GRAPHS.flatMap(({ objects, resource }) =>
        objects.map(({ kind, metadata }) => {
          const owner = resource.metadata.name;
          assert.ok(metadata.name.startsWith(`${owner}-`), metadata.name);
          return `${kind} ${metadata.name.slice(owner.length)}`;
        }),
      ),
    );
    for (const tail of tails) {
      const [kind = '', suffix = ''] = tail.split(' ');
      const others = [...tails].filter((other) => other !== tail && other.startsWith(`${kind} `));
      const clash = others.find((other) => other.endsWith(suffix));
      assert.equal(clash, undefined, `${tail} and ${clash ?? ''}`);
    }
  });
});
