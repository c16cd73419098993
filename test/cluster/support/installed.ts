import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';

import { OPERATOR } from '../../../constructs/kit/operator-identity.js';
import type { Cluster } from '../harness.js';
import { at, type Live } from './objects.js';
import { argsOf, Operator, type OperatorProps } from './operator.js';

/** The user of an operator in a namespace, where it runs with the rights of an installation. */
export function userOf(namespace: string): string {
  return `system:serviceaccount:${namespace}:${OPERATOR.serviceAccount}`;
}

export const USER = userOf(OPERATOR.namespace);

/** A pod that lost its lease would be started again: here a machine that stood still must not end the operator. */
export const LONG_LEASE = ['--leader-elect-lease-duration=5m'];

/** Starts an operator with the token of its ServiceAccount, and the arguments of its Deployment in a manifest. */
export async function startInstalled(
  cluster: Cluster,
  manifest: string,
  ...args: readonly string[]
): Promise<Operator> {
  const operator = new Operator(await installed(cluster, manifest, ...LONG_LEASE, ...args));
  await operator.logged('caches are filled');
  return operator;
}

/** How such an operator is started. */
export async function installed(
  cluster: Cluster,
  manifest: string,
  ...args: readonly string[]
): Promise<OperatorProps> {
  const deployment = parseAllDocuments(manifest)
    .map((document) => document.toJS() as Live | null)
    .find((object) => object?.kind === 'Deployment');
  const { serviceAccount } = OPERATOR;
  const { namespace = OPERATOR.namespace } = deployment?.metadata ?? {};
  const { controlPlane } = cluster;
  const create = ['create', 'token', serviceAccount, '-n', namespace];
  const token = (await controlPlane.kubectl(create)).trim();
  const config = parse(await readFile(controlPlane.kubeconfig, 'utf8')) as {
    users: { user: object }[];
  };
  for (const entry of config.users) entry.user = { token };
  const folder = await mkdtemp(path.join(controlPlane.dataDir, 'operator-'));
  const kubeconfig = path.join(folder, 'kubeconfig');
  await writeFile(kubeconfig, stringify(config), { mode: 0o600 });
  const container = 'spec.template.spec.containers[0]';
  // Several run on this machine, where a pod would have the port to itself.
  const given = (at(deployment, `${container}.args`) as string[]).map((argument) =>
    argument.replace(/^(--webhook-bind-address)=.*/, '$1=127.0.0.1:0'),
  );
  const env = (at(deployment, `${container}.env`) ?? []) as { name: string; value: string }[];
  return {
    user: userOf(namespace),
    kubeconfig,
    env: Object.fromEntries(env.map(({ name, value }) => [name, value])),
    // A pod knows its own namespace.
    args: [...given, `--leader-election-namespace=${namespace}`, ...argsOf({}), ...args],
  };
}

/** The calls of that operator that it had no right to, as `list /apis/…`; at most those of its first time. */
export async function forbiddenCalls(cluster: Cluster, firstMs = Infinity): Promise<string[]> {
  const calls = await cluster.calls({ user: USER });
  if (calls.length === 0) throw new Error(`${USER} has not called at all`);
  const timeOf = (call: { readonly requestReceivedTimestamp: string }): number =>
    Date.parse(call.requestReceivedTimestamp);
  const end = Math.min(...calls.map(timeOf)) + firstMs;
  return calls
    .filter((call) => call.responseStatus?.code === 403 && timeOf(call) < end)
    .map(({ verb, requestURI }) => `${verb} ${requestURI}`);
}
