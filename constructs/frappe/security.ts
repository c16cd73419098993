import type { k8s } from 'cdk8s-plus-28';
import type { Security } from '../kit/api.js';
import { DEFAULT_IDS, type Settings } from '../kit/settings.js';

/** Security contexts with every value decided: spec, then the operator's settings. */
export interface ResolvedSecurity {
  readonly pod: k8s.PodSecurityContext;
  readonly container: k8s.SecurityContext;
}

/**
 * Decides the security contexts so that they pass Pod Security `restricted`, unless the spec says otherwise.
 * @param platformIds whether the platform assigns the ids that nobody has named
 */
export function resolveSecurity(
  spec: Security | undefined,
  settings: Settings,
  platformIds: boolean,
): ResolvedSecurity {
  const pod = spec?.podSecurityContext;
  const container = spec?.securityContext;
  const ids = { ...(platformIds ? {} : DEFAULT_IDS), ...settings };
  const runAsUser = pod?.runAsUser ?? ids.defaultUid;
  const runAsGroup = pod?.runAsGroup ?? ids.defaultGid;
  const fsGroup = pod?.fsGroup ?? ids.defaultFsGroup;
  return {
    pod: {
      runAsNonRoot: true,
      ...(runAsUser === undefined ? {} : { runAsUser }),
      ...(runAsGroup === undefined ? {} : { runAsGroup }),
      ...(fsGroup === undefined ? {} : { fsGroup }),
      // Changing the owner of every file of a large volume at each start takes minutes.
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    container: {
      ...(container?.runAsUser === undefined ? {} : { runAsUser: container.runAsUser }),
      ...(container?.runAsGroup === undefined ? {} : { runAsGroup: container.runAsGroup }),
      allowPrivilegeEscalation: container?.allowPrivilegeEscalation ?? false,
      capabilities: { drop: [...(container?.capabilities?.drop ?? ['ALL'])] },
      readOnlyRootFilesystem: true,
    },
  };
}
