import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { justify, type JustifiedRight } from './justification.js';
import {
  clusterRules,
  namespacedRules,
  ownNamespaceRules,
  type ResourceRule,
  webhookKeyRules,
  webhookRules,
} from '../../constructs/install/permissions.js';
import { INTEGRATIONS } from '../../constructs/integrations/index.js';
import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { KINDS } from '../../constructs/registry.js';
import { assertSection, ROOT, table } from '../support/docs-tables.js';
import { install, the } from './install-manifest.js';

const SOURCES = { kinds: KINDS, group: DEFAULT_API_GROUP, integrations: INTEGRATIONS };
const PAGE = 'docs/security/rbac.md';

/** The rules by the section of the page. */
const SECTIONS: Readonly<Record<string, readonly ResourceRule[]>> = {
  work: namespacedRules(KINDS),
  cluster: [...clusterRules(KINDS), ...webhookRules(OPERATOR.namespace)],
  own: [...ownNamespaceRules(), ...webhookKeyRules()],
};

/** In the operator's own namespace a creation, which no names limit, is of the named object. */
const rightsOf = (section: string): readonly JustifiedRight[] =>
  (SECTIONS[section] ?? []).flatMap((rule) => {
    const named =
      section === 'own' && rule.resourceNames === undefined
        ? { ...rule, resourceNames: ['*'] }
        : rule;
    return justify([named], SOURCES).map((right) => ({
      ...right,
      names: rule.resourceNames ?? [],
    }));
  });

const lines = (rules: readonly ResourceRule[]): string[] =>
  rules
    .flatMap(({ apiGroups, resources, verbs, resourceNames = [] }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb) => [group, resource, resourceNames.join(), verb].join(' ')),
        ),
      ),
    )
    .sort();

describe('docs/security/rbac.md', () => {
  for (const section of Object.keys(SECTIONS)) {
    test(`justifies every right of its section ${section}`, () => {
      const rows = rightsOf(section).map(({ resource, names, verbs, why, from }) => [
        `\`${resource}\``,
        names.map((name) => `\`${name}\``).join(', '),
        verbs.join(', '),
        why,
        from,
      ]);
      assertSection(PAGE, section, table(['Resource', 'Names', 'Verbs', 'Why', 'From'], rows));
    });
  }
  test('is about all rules of the install manifest, and no others', () => {
    const objects = install();
    const installed = [
      ...(the(objects, 'ClusterRole', OPERATOR.managerRole).rules ?? []),
      ...(the(objects, 'Role', OPERATOR.ownRole).rules ?? []),
    ];
    assert.deepEqual(lines(Object.values(SECTIONS).flat()), lines(installed));
  });
  test('a right without a reason is an error', () => {
    const rule = { apiGroups: [''], resources: ['nodes'], verbs: ['get'] };
    assert.throws(() => justify([rule], SOURCES), /get nodes: the right has no reason/);
  });
});

describe('docs/security/threat-model.md', () => {
  const page = readFileSync(`${ROOT}docs/security/threat-model.md`, 'utf8');
  const named = [...page.matchAll(/`((?:test|jobs\/tests)\/[\w/.-]+)`/g)].map(
    ([, path = '']) => path,
  );
  test('names tests that exist', () => {
    assert.ok(named.length > 20);
    for (const path of named) assert.ok(existsSync(ROOT + path), path);
  });
  test('names a test in each row of its controls', () => {
    const [, controls = ''] = page.split('\n## Controls\n');
    const [own = ''] = controls.split('\n## ');
    const rows = own.split('\n').filter((line) => /^\| (?!---|Control)/.test(line));
    assert.ok(rows.length > 10);
    for (const row of rows.filter((line) => !/^\| -+ /.test(line))) {
      assert.match(row, /`(test|jobs\/tests)\//, row);
    }
  });
});
