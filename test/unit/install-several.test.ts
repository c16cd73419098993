/** Two installations in one cluster: docs/several-operators.md. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { InstallProps } from '../../constructs/install/chart.js';
import { install } from './install-manifest.js';

const idsOf = (props: Partial<InstallProps>): readonly string[] =>
  install(props).map(
    ({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`,
  );

/** How the second installation differs from the first. */
const SECOND = { namespace: 'second-system', crds: false };

const SCOPES: readonly (readonly [string, Partial<InstallProps>, Partial<InstallProps>])[] = [
  ['in all namespaces', { watchLabelSelector: 'a' }, { watchLabelSelector: '!a' }],
  ['in namespaces of their own', { watchNamespaces: ['a'] }, { watchNamespaces: ['b'] }],
  ['in one namespace', { watchNamespaces: ['a'] }, { watchNamespaces: ['a'] }],
  [
    'in one namespace, without ClusterRoles',
    { watchNamespaces: ['a'], namespaced: true },
    { watchNamespaces: ['a'], namespaced: true },
  ],
];

describe('two installations share no object', () => {
  for (const [what, one, other] of SCOPES) {
    test(what, () => {
      const first = new Set(idsOf(one));
      const second = idsOf({ ...SECOND, ...other });
      assert.ok(first.size > 5 && second.length > 5);
      assert.deepEqual(
        second.filter((id) => first.has(id)),
        [],
      );
    });
  }

  test('but the CRDs, where the second has them too', () => {
    const first = new Set(idsOf({}));
    const shared = idsOf({ ...SECOND, crds: true }).filter((id) => first.has(id));
    assert.ok(shared.length > 0);
    assert.deepEqual(
      shared.filter((id) => !id.startsWith('CustomResourceDefinition ')),
      [],
    );
  });
});

test('an installation binds its own roles to its own account', () => {
  const bindings = install({ ...SECOND, watchNamespaces: ['a'] }).filter(({ roleRef }) => roleRef);
  assert.deepEqual(
    bindings.map(({ kind, metadata, roleRef }) => [kind, metadata.name, roleRef?.name]),
    [
      [
        'ClusterRoleBinding',
        'app-operator-manager-rolebinding-second-system',
        'app-operator-manager-role-second-system',
      ],
      [
        'RoleBinding',
        'app-operator-manager-rolebinding-second-system',
        'app-operator-manager-role-second-system',
      ],
      ['RoleBinding', 'app-operator-own-namespace-rolebinding', 'app-operator-own-namespace-role'],
    ],
  );
  const subjects = bindings.flatMap(({ subjects: each = [] }) => each as { namespace: string }[]);
  assert.deepEqual([...new Set(subjects.map(({ namespace }) => namespace))], ['second-system']);
});
