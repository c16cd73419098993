import type { k8s } from 'cdk8s-plus-28';
import type { Security } from '../kit/api.js';
import { defined } from '../kit/defined.js';
import { DEFAULT_IDS, type Settings } from '../kit/settings.js';

/**
 * Security contexts with every default filled in: from the spec, then from the operator's settings.
 */
export interface ResolvedSecurity {
  readonly pod: k8s.PodSecurityContext;
  readonly container: k8s.SecurityContext;
}

/**
 * Security contexts that pass Pod Security `restricted`, unless the spec says otherwise.
 * @param platformIds whether the platform assigns the ids that neither spec nor settings name
 */
export function resolveSecurity(
  spec: Security | undefined,
  settings: Settings,
  platformIds: boolean,
): ResolvedSecurity {
  return {
    pod: podContext(spec?.podSecurityContext, { ...(platformIds ? {} : DEFAULT_IDS), ...settings }),
    container: containerContext(spec?.securityContext),
  };
}

function podContext(
  given: Security['podSecurityContext'],
  ids: Pick<Settings, keyof typeof DEFAULT_IDS>,
): k8s.PodSecurityContext {
  return {
    runAsNonRoot: true,
    ...defined({
      runAsUser: given?.runAsUser ?? ids.defaultUid,
      runAsGroup: given?.runAsGroup ?? ids.defaultGid,
      fsGroup: given?.fsGroup ?? ids.defaultFsGroup,
    }),
    // To change the owner of every file of a large volume at each start takes minutes.
    fsGroupChangePolicy: 'OnRootMismatch',
    seccompProfile: { type: 'RuntimeDefault' },
  };
}

function containerContext(given: Security['securityContext']): k8s.SecurityContext {
  return {
    ...defined({ runAsUser: given?.runAsUser, runAsGroup: given?.runAsGroup }),
    allowPrivilegeEscalation: given?.allowPrivilegeEscalation ?? false,
    capabilities: { drop: [...(given?.capabilities?.drop ?? ['ALL'])] },
    readOnlyRootFilesystem: true,
  };
}
