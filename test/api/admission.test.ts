import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { objectKind } from '../../constructs/kit/definition.js';
import type { Problem } from '../../constructs/kit/errors.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Resource } from '../../constructs/kit/object.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { ApiError, type StatusBody } from '../../runner/api/api-error.js';
import { createClient, type Client } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { closeTransport, openTransport, type Transport } from '../../runner/api/transport.js';
import { chosenMinor } from '../../testbed/controlplane/versions.js';
import { CHANGES, REFUSED, UNKNOWN_FIELDS } from '../unit/schema-corpus.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { definitionOf } from '../unit/schema-definitions.js';
import { badValues, fieldsOf, withField } from '../unit/schema-fields.js';
import { MINIMAL, minimal, type Manifest } from '../unit/schema-manifests.js';
import { ACCEPTED } from '../unit/schema-accepted.js';
import { type Cluster, startCluster } from '../cluster/harness.js';

const CRD: ObjectKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
};

interface Crd {
  readonly status: {
    readonly conditions: readonly { type: string; status: string; message: string }[];
  };
}

let cluster: Cluster;
let client: Client;
/** The same server, without the bounds of the operator's client. */
let raw: Transport;
before(async () => {
  cluster = await startCluster();
  const credentials = await loadCredentials(cluster.controlPlane.kubeconfig, {});
  client = createClient({ credentials });
  raw = openTransport((await credentials.access()).endpoint, 8);
});
after(async () => {
  // The manifests name this namespace, which stays.
  for (const definition of DEFINITIONS) {
    await client.request('DELETE', resourcePath(objectKind(definition), 'default'));
  }
  await closeTransport(raw);
  await client.close();
  await cluster.stop();
});

/** The problems that the API server finds in an object, without its note that rules were not run. */
type Answer = { readonly object: Resource } | { readonly problems: readonly Problem[] };

async function ask(
  manifest: Manifest,
  method: 'POST' | 'PUT' = 'POST',
  dryRun = true,
): Promise<Answer> {
  const kind = objectKind(definitionOf(manifest.kind));
  const name = method === 'PUT' ? String(manifest.metadata['name']) : undefined;
  const query = dryRun ? { dryRun: 'All' } : {};
  try {
    const path = resourcePath(kind, 'default', name);
    return { object: await client.request<Resource>(method, path, { query, body: manifest }) };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error;
    const causes = await allCauses(method, resourcePath(kind, 'default', name), manifest);
    return {
      problems: causes
        .filter(({ field }) => field !== '<nil>')
        // The scale subresource reports a second time what the schema refuses.
        .filter(({ field }) => !field?.startsWith('.'))
        .map(({ field = '', message = '' }) => ({ path: field, message })),
    };
  }
}

/** All causes of a refusal: an `ApiError` keeps the first ones. The request is repeated as a dry run. */
async function allCauses(
  method: 'POST' | 'PUT',
  path: string,
  manifest: Manifest,
): Promise<NonNullable<StatusBody['details']>['causes'] & object> {
  const { body } = await raw.requests.request({
    ...{ origin: raw.origin, path: `${raw.prefix}${path}?dryRun=All`, method },
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(manifest),
  });
  const { details } = (await body.json()) as StatusBody;
  return details?.causes ?? [];
}

/** A value of another type than a number with a format. */
const NOT_OF_FORMAT =
  /^Invalid value: "[a-z0-9]*": (\S+ in body must be of type )(?:int32|int64|integer): "[a-z0-9]*"$/;

/** Before 1.36, Kubernetes names the types of such a value and its field; since then, their formats. */
function withoutFormat(message: string): string {
  return chosenMinor() === '1.35' ? message.replace(NOT_OF_FORMAT, '$1integer') : message;
}

const lines = (problems: readonly Problem[]): string[] =>
  problems.map(({ path, message }) => `${path}: ${withoutFormat(message)}`).sort();

/** Asserts that `admit` and the API server agree, word by word. */
async function compare(manifest: Manifest): Promise<void> {
  const answer = await ask(manifest);
  const { object, problems } = admit(definitionOf(manifest.kind), manifest);
  if ('problems' in answer) {
    // The server's own rule for names comes on top of ours.
    const theirs = answer.problems.filter(({ message }) => !message.includes('RFC 1123'));
    assert.deepEqual(lines(problems), lines(theirs));
  } else {
    assert.deepEqual(lines(problems), []);
    assert.deepEqual(object.spec, answer.object.spec);
  }
}

suite('The CRDs', () => {
  for (const { kind, plural } of DEFINITIONS) {
    test(`${kind} is established, and its schema is structural`, async () => {
      const path = resourcePath(CRD, undefined, `${plural}.app-operator.io`);
      const { status } = await client.request<Crd>('GET', path);
      const bad = status.conditions.filter(
        ({ type, status: holds }) => (type === 'NonStructuralSchema') === (holds === 'True'),
      );
      assert.deepEqual(bad, []);
    });
  }
});

suite('The API server refuses, with the messages of admit:', () => {
  for (const [reason, manifest, ...paths] of REFUSED) {
    test(`${reason} (${manifest.kind})`, async () => {
      const answer = await ask(manifest);
      assert.ok('problems' in answer, 'it was accepted');
      const found = new Set(answer.problems.map(({ path }) => path));
      assert.deepEqual([...found].sort(), [...new Set(paths)].sort());
      await compare(manifest);
    });
  }
});

suite('The API server stores what admit returns:', () => {
  for (const kind of Object.keys(MINIMAL)) test(`the least ${kind}`, () => compare(minimal(kind)));
  for (const [reason, manifest] of ACCEPTED) {
    test(`${reason} (${manifest.kind})`, async () => {
      assert.ok('object' in (await ask(manifest)));
      await compare(manifest);
    });
  }
});

suite('The API server and admit agree on bad values of every field:', () => {
  for (const definition of DEFINITIONS) {
    test(definition.kind, async () => {
      for (const field of fieldsOf(definition.spec)) {
        for (const [what, value] of Object.entries(badValues(field.schema))) {
          const manifest = withField(definition, field, value);
          await compare(manifest).catch((cause: unknown) => {
            throw new Error(`${what} in spec.${field.path.join('.')}`, { cause });
          });
        }
      }
    });
  }
});

suite('The API server names the unknown fields that admit drops:', () => {
  for (const [reason, manifest, field] of UNKNOWN_FIELDS) {
    test(`${reason} (${manifest.kind})`, async () => {
      const path = resourcePath(objectKind(definitionOf(manifest.kind)), 'default');
      const query = { dryRun: 'All', fieldValidation: 'Strict' };
      await assert.rejects(
        client.request('POST', path, { query, body: manifest }),
        (error: Error) => error.message.endsWith(`strict decoding error: unknown field "${field}"`),
      );
      const { pruned } = admit(definitionOf(manifest.kind), manifest);
      assert.deepEqual(pruned, [field]);
    });
  }
});

const named = (manifest: Manifest, name: string): Manifest => ({
  ...manifest,
  metadata: { ...manifest.metadata, name },
});

suite('The API server and admit agree on changes:', () => {
  for (const [index, [reason, ...change]] of CHANGES.entries()) {
    const [from, to] = change.map((manifest) => named(manifest, `changed-${index}`)) as [
      Manifest,
      Manifest,
    ];
    test(`${reason} (${from.kind})`, async () => {
      const created = await ask(from, 'POST', false);
      assert.ok('object' in created);
      const old = created.object;
      const answer = await ask({ ...to, metadata: { ...old.metadata } }, 'PUT');
      const { problems } = admit(definitionOf(to.kind), to, { old });
      assert.deepEqual(lines(problems), 'problems' in answer ? lines(answer.problems) : []);
    });
  }
});
