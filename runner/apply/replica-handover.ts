import type { KubeObject } from '../../constructs/kit/object.js';
import { isConflict } from '../api/api-error.js';
import { APPLY_PATCH, type Client } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';
import type { Child } from '../cache/child.js';
import type { PlannedChild } from '../plan/plan.js';

/** Owns the number of replicas after the operator has stopped to apply it. */
const HANDOVER_MANAGER = 'app-operator-handover';

interface Scalable extends KubeObject {
  readonly spec?: { readonly replicas?: number };
}

/**
 * Hands the present number of replicas to a manager that never applies again, before the operator stops
 * to apply it. A field whose last manager stops to apply it is removed, and the API server sets its
 * default: one replica. See ADR 10.
 */
export async function handOverReplicas(
  client: Pick<Client, 'request'>,
  { kind: planned }: PlannedChild,
  { object, live }: { readonly object: KubeObject; readonly live: Child },
): Promise<void> {
  const wanted = (object as Scalable).spec?.replicas;
  if (wanted !== undefined || !live.replicas?.ours) return;
  const { apiVersion, kind, metadata } = object;
  const { name, namespace } = metadata;
  try {
    // Not forced: another manager that has set another number meanwhile keeps it.
    await client.request('PATCH', resourcePath(planned, namespace, name), {
      query: { fieldManager: HANDOVER_MANAGER },
      contentType: APPLY_PATCH,
      body: {
        apiVersion,
        kind,
        metadata: { name, namespace, uid: live.uid },
        spec: { replicas: live.replicas.desired },
      },
    });
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
}
