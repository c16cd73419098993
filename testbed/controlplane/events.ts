import type { AdminClient } from './admin-client.js';

const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
/** Of who writes most of the Events: one for each pod that has a node, one for each ReplicaSet that is scaled. */
const ROLES_WITH_EVENTS = ['system:kube-scheduler', 'system:controller:deployment-controller'];

interface Role {
  readonly rules: readonly { readonly resources?: readonly string[] }[];
}

/** Refuses the Events of the scheduler and of Deployments, until the API server is restarted. */
export async function refuseEvents(api: AdminClient): Promise<void> {
  await Promise.all(
    ROLES_WITH_EVENTS.map(async (name) => {
      const { rules } = (await api.request('GET', `${ROLES}/${name}`)) as Role;
      const others = rules.filter(({ resources }) => !resources?.includes('events'));
      await api.mergePatch(`${ROLES}/${name}`, { rules: others });
    }),
  );
}
