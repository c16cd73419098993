import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { corpus } from '../golden/corpus.js';

type Fields = Readonly<Record<string, unknown>>;

describe('every pod of every golden scenario', () => {
  interface PodSpec {
    readonly automountServiceAccountToken?: boolean;
    readonly hostNetwork?: boolean;
    readonly volumes?: readonly Fields[];
    readonly securityContext?: Fields;
    readonly containers: readonly { readonly name: string; readonly securityContext?: Fields }[];
    readonly initContainers?: PodSpec['containers'];
  }
  const podsIn = (value: unknown): readonly PodSpec[] => {
    if (typeof value !== 'object' || value === null) return [];
    const own = 'containers' in value ? [value as PodSpec] : [];
    return [...own, ...Object.values(value).flatMap(podsIn)];
  };
  const all = corpus().flatMap(({ objects }) =>
    objects.flatMap((object) =>
      podsIn(object).map((pod) => ({ pod, name: `${object.kind} ${object.metadata.name}` })),
    ),
  );
  test('are of every kind that makes pods', () => {
    const kinds = new Set(all.map(({ name }) => name.split(' ')[0]));
    assert.deepEqual([...kinds].sort(), ['CronJob', 'Deployment', 'Job', 'StatefulSet']);
  });
  test('has no token of a service account', () => {
    for (const { pod, name } of all) assert.equal(pod.automountServiceAccountToken, false, name);
  });
  test('is within Pod Security restricted', () => {
    for (const { pod, name } of all) {
      assert.equal(pod.securityContext?.['runAsNonRoot'], true, name);
      assert.deepEqual(pod.securityContext['seccompProfile'], { type: 'RuntimeDefault' }, name);
      assert.equal(pod.hostNetwork, undefined, name);
      for (const volume of pod.volumes ?? []) assert.equal(volume['hostPath'], undefined, name);
      for (const container of [...pod.containers, ...(pod.initContainers ?? [])]) {
        const { allowPrivilegeEscalation, capabilities } = container.securityContext ?? {};
        assert.equal(allowPrivilegeEscalation, false, name);
        assert.ok((capabilities as { drop: string[] }).drop.includes('ALL'), name);
      }
    }
  });
});
