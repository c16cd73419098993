import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { repetition } from '../../constructs/install/cel.js';
import { DEFAULT_INGRESS_ANNOTATIONS } from '../../constructs/install/ingress-annotations.js';
import type { Schema } from '../../constructs/kit/definition.js';
import { isObject } from '../../constructs/kit/json/is-object.js';
import { KINDS } from '../../constructs/registry.js';
import { corpus } from '../golden/corpus.js';
import { assertSection, table } from '../support/docs-tables.js';
import { kindOf } from '../golden/outcome.js';

const PAGE = 'docs/security/admission-policies.md';

/** Fields of references that no pod gets, and the reason. */
const NO_POD: Readonly<Record<string, string>> = {
  'benchRef.name': 'an AppBench',
  'siteRef.name': 'an AppSite',
  'restoreFrom.backupRef.name': 'a SiteBackup, whose author was checked',
  'ingress.tls.secretName': 'the ingress controller reads it',
  'dbConfig.mariadbRef.name': 'a MariaDB, whose grant is asked',
  'domainConfig.gatewayRef.name': 'a Gateway, whose listener decides',
  'ingress.gatewayRef.name': 'a Gateway, whose listener decides',
  'dbConfig.clusterRef.name': 'a Cluster, whose grant is asked',
};

/** The paths of texts in a schema that look like the name of an object. */
function referencesIn(schema: Schema, path = ''): readonly string[] {
  const { properties = {}, items, type } = schema;
  if (items) return referencesIn(items, `${path}[]`);
  const isName =
    /([a-z]Ref|Ref[.]|KeyRef|pullSecrets\[\])[.]?name$|claimName$|existingClaim$|[sS]ecretName$/;
  if (type === 'string' && isName.test(path)) return [path];
  return Object.entries(properties).flatMap(([name, field]) =>
    referencesIn(field, path === '' ? name : `${path}.${name}`),
  );
}

/** The values of a path of a spec. */
function valuesAt(spec: unknown, path: string): readonly unknown[] {
  const found = repetition(path);
  const walk = (value: unknown, names: string): unknown =>
    names.split('.').reduce((at: unknown, name) => (isObject(at) ? at[name] : undefined), value);
  if (!found) return [walk(spec, path)].filter((value) => value !== undefined);
  const all = walk(spec, found.head);
  const items: readonly unknown[] = isObject(all)
    ? Object.values(all)
    : Array.isArray(all)
      ? (all as unknown[])
      : [];
  return items.flatMap((item) => (found.tail === '' ? [item] : valuesAt(item, found.tail)));
}

/** The names of Secrets, ConfigMaps and claims that pods in an object get. */
function namesIn(value: unknown, key = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => namesIn(item, key));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]): readonly string[] => {
    if (typeof inner !== 'string') return namesIn(inner, name);
    const isReference =
      ['secretName', 'claimName'].includes(name) ||
      (name === 'name' &&
        /^(secretKeyRef|configMapKeyRef|secretRef|configMapRef|configMap|imagePullSecrets)$/.test(
          key,
        ));
    return isReference ? [inner] : [];
  });
}

/** Every text in a spec. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

describe('the fields by which an author names objects', () => {
  for (const { definition, podFields } of KINDS) {
    test(`are all that the schema of ${definition.kind} has`, () => {
      const declared = new Set((podFields?.names ?? []).map(({ path }) => path));
      const missing = referencesIn(definition.spec).filter(
        (path) => !declared.has(path) && !(path in NO_POD),
      );
      assert.deepEqual(missing, []);
    });
  }

  test('are all whose objects pods get in golden scenarios', () => {
    let found = 0;
    for (const { scenario, resource, objects } of corpus()) {
      const texts = new Set(textsIn(resource.spec));
      const named = new Set(
        (kindOf(resource).podFields?.names ?? []).flatMap(({ path }) =>
          valuesAt(resource.spec, path),
        ),
      );
      const workloads = objects.filter(({ kind }) =>
        ['Deployment', 'StatefulSet', 'Job', 'CronJob'].includes(kind),
      );
      for (const name of workloads.flatMap((object) => namesIn(object))) {
        if (!texts.has(name)) continue;
        found += 1;
        assert.ok(named.has(name), `${scenario}: ${resource.kind}: ${name}`);
      }
    }
    assert.ok(found > 50, `${found} names`);
  });

  test('are in the page of the policies', () => {
    const rows = KINDS.flatMap(({ definition, podFields }) => {
      const kinds = Map.groupBy(podFields?.names ?? [], ({ kind }) => kind);
      return [...kinds].flatMap(([kind, fields]) =>
        fields.map(({ path }) => [definition.kind, kind, `\`${path.replace('{}', '.*')}\``]),
      );
    });
    assertSection(PAGE, 'names', table(['Kind', 'Names a', 'Field of the spec'], rows));
  });
});

test('the page of the policies lists every annotation that is allowed by default', () => {
  const prefixes = new Map<string, string[]>();
  for (const key of DEFAULT_INGRESS_ANNOTATIONS) {
    const [prefix = '', name = ''] = key.split('/');
    prefixes.set(prefix, [...(prefixes.get(prefix) ?? []), `\`${name}\``]);
  }
  const rows = [...prefixes].map(([prefix, names]) => [`\`${prefix}/\``, names.join(', ')]);
  assertSection(PAGE, 'annotations', table(['Prefix', 'Names'], rows));
});
