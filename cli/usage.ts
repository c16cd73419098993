import { DEFAULT_API_GROUP } from '../constructs/kit/definition.js';
import { DEFAULT_SETTINGS } from '../constructs/kit/settings.js';
import { SERVED_NAMES } from './serves.js';

/** The command line is wrong: the exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const API_GROUP = `  --api-group GROUP       API group of the custom resources (default ${DEFAULT_API_GROUP})`;

/** What `app-operator help` prints. */
export const USAGE = `Usage: app-operator COMMAND [FLAGS]

Commands:
  render     print the complete graph of the benches and sites in files, with no cluster
  crds       print the CustomResourceDefinitions
  install    print the install manifest
  version    print the version
  help       print this

render:
  -f, --filename PATH     file of YAML or JSON, folder, or - for standard input; can be repeated
  -R, --recursive         take the folders in a folder too
${API_GROUP}
  --serves NAMES          operators that the cluster has: ${SERVED_NAMES.join(', ')}
  --cluster-domain NAME   DNS domain of the cluster (default ${DEFAULT_SETTINGS.clusterDomain})
  --default-uid ID        user of pods that name none (default ${DEFAULT_SETTINGS.defaultUid})
  --default-gid ID        group of pods that name none (default ${DEFAULT_SETTINGS.defaultGid})
  --default-fsgroup ID    group of volumes where pods name none (default ${DEFAULT_SETTINGS.defaultFsGroup})

crds:
${API_GROUP}

install:
  --image IMAGE           the operator's image with its tag (default: that of this version)
  --replicas N            replicas; one works, the others stand by (default 1)
  --namespaces NAMES      namespaces to work in, separated by commas (default: all)
  --namespaced            no Namespace, CRDs or ClusterRoles: what a namespace's administrator can apply
  --platform-ids          the platform assigns the ids of pods, as OpenShift does: set none of ours
  --limit-egress          the operator's NetworkPolicy limits what it reaches too
${API_GROUP}

Exit codes: 0, 1 where there are problems (nothing is on standard output then), 2 for a wrong command line.
`;
