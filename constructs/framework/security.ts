import type { k8s } from 'cdk8s-plus-28';
import type { Security } from '../kit/api.js';
import type { Settings } from '../kit/settings.js';

/** Security contexts with every value decided: spec, then the operator's settings. */
export interface ResolvedSecurity {
  readonly pod: k8s.PodSecurityContext;
  readonly container: k8s.SecurityContext;
}

/** Decides the security contexts so that they pass Pod Security `restricted`, unless the spec says otherwise. */
export function resolveSecurity(spec: Security | undefined, settings: Settings): ResolvedSecurity {
  const pod = spec?.podSecurityContext;
  const container = spec?.securityContext;
  return {
    pod: {
      runAsNonRoot: true,
      runAsUser: pod?.runAsUser ?? settings.defaultUid,
      runAsGroup: pod?.runAsGroup ?? settings.defaultGid,
      fsGroup: pod?.fsGroup ?? settings.defaultFsGroup,
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
