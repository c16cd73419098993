import { install } from '../../unit/install-manifest.js';
import type { InstallProps } from '../../../constructs/install/chart.js';
import type { KubeObject } from '../../../constructs/kit/object.js';
import type { Cluster } from '../harness.js';

const KINDS = new Set([
  'ConfigMap',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
]);

/** The admission policies of an installation, with the ConfigMap of the limits. */
export function policyObjects(props: Partial<InstallProps> = {}): readonly KubeObject[] {
  return install(props).filter(({ kind }) => KINDS.has(kind));
}

/** Applies the admission policies of an installation, as they are in its manifest. */
export async function applyPolicies(
  cluster: Cluster,
  props: Partial<InstallProps> = {},
): Promise<void> {
  const items = policyObjects(props);
  await cluster.controlPlane.kubectl(
    ['apply', '--server-side', '--field-manager=install', '--filename=-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  );
}
