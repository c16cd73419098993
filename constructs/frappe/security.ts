import type * as k8s from '../kit/k8s.js';
import type { Security } from '../kit/api.js';
import { defined } from '../kit/json/defined.js';
import type { Problem } from '../kit/errors.js';
import { DEFAULT_IDS, type Settings } from '../kit/operator-settings.js';

/**
 * Security contexts with every default filled in: from the spec, then from the bench's record, then
 * from the operator's settings.
 */
export interface ResolvedSecurity {
  readonly pod: k8s.PodSecurityContext;
  readonly container: k8s.SecurityContext;
}

/** The ids that the pods of a bench run with; undefined for one that the platform assigns. */
interface PodIds {
  readonly user: number | undefined;
  readonly group: number | undefined;
  readonly fsGroup: number | undefined;
}

/**
 * Security contexts that pass Pod Security `restricted`, unless the spec says otherwise.
 * @param platformIds whether the platform assigns the ids that neither spec nor settings name
 * @param recorded `status.ids` of a bench that has started: it stands for settings and platform, but
 *   built-in ids yield to a platform that assigns ids, which would refuse the pods
 */
export function resolveSecurity(
  spec: Security | undefined,
  settings: Settings,
  platformIds: boolean,
  recorded?: string,
): ResolvedSecurity {
  const kept = recorded === undefined ? undefined : parseIds(recorded);
  const { podSecurityContext, securityContext } = withKeptUser(spec ?? {}, kept);
  const first = kept ? withPlatform(kept, platformIds) : defaultIds(settings, platformIds);
  const defaults = defaultIds(settings, platformIds);
  // An id of every container hides the pod's, which is then not the recorded one.
  const ids: PodIds = {
    user: securityContext?.runAsUser === undefined ? first.user : defaults.user,
    group: securityContext?.runAsGroup === undefined ? first.group : defaults.group,
    fsGroup: first.fsGroup,
  };
  return { pod: podContext(podSecurityContext, ids), container: containerContext(securityContext) };
}

/** The ids that containers run with, for `status.ids`: `<user>/<group>/<fsGroup>`. */
export function effectiveIds({ pod, container }: ResolvedSecurity): string {
  const ids = [
    container.runAsUser ?? pod.runAsUser,
    container.runAsGroup ?? pod.runAsGroup,
    pod.fsGroup,
  ];
  return ids.map((id) => id ?? '-').join('/');
}

/** A user in the spec that is not the one whose files are on the volumes. */
export function userProblems(
  spec: Security | undefined,
  recorded: string | undefined,
): readonly Problem[] {
  const wanted = userOf(spec);
  const kept = recorded === undefined ? undefined : parseIds(recorded);
  if (!kept || wanted === undefined || wanted === kept.user) return [];
  const level =
    spec?.securityContext?.runAsUser === wanted ? 'securityContext' : 'podSecurityContext';
  const owner = kept.user === undefined ? 'a user that the platform assigns' : `user ${kept.user}`;
  const message = `Invalid value: ${wanted}: runAsUser is immutable: the bench runs as ${owner}, and the files on its volumes belong to that user; remove runAsUser`;
  return [{ path: `spec.security.${level}.runAsUser`, message }];
}

/** The user that a spec names for containers. */
function userOf(spec: Security | undefined): number | undefined {
  return spec?.securityContext?.runAsUser ?? spec?.podSecurityContext?.runAsUser;
}

function withPlatform(kept: PodIds, platformIds: boolean): PodIds {
  if (!platformIds) return kept;
  const own = (id: number | undefined, builtIn: number) => (id === builtIn ? undefined : id);
  return {
    user: own(kept.user, DEFAULT_IDS.defaultUid),
    group: own(kept.group, DEFAULT_IDS.defaultGid),
    fsGroup: own(kept.fsGroup, DEFAULT_IDS.defaultFsGroup),
  };
}

/** The spec without a user that could not read the files on the volumes. */
function withKeptUser(spec: Security, kept: PodIds | undefined): Security {
  const wanted = userOf(spec);
  if (!kept || wanted === undefined || wanted === kept.user) return spec;
  const { runAsUser: _pod, ...podSecurityContext } = spec.podSecurityContext ?? {};
  const { runAsUser: _container, ...securityContext } = spec.securityContext ?? {};
  return { podSecurityContext, securityContext };
}

function parseIds(recorded: string): PodIds {
  const [user, group, fsGroup] = recorded
    .split('/')
    .map((id) => (/^[0-9]+$/.test(id) ? Number(id) : undefined));
  return { user, group, fsGroup };
}

function defaultIds(settings: Settings, platformIds: boolean): PodIds {
  const ids: Partial<Settings> = { ...(platformIds ? {} : DEFAULT_IDS), ...settings };
  return { user: ids.defaultUid, group: ids.defaultGid, fsGroup: ids.defaultFsGroup };
}

function podContext(given: Security['podSecurityContext'], ids: PodIds): k8s.PodSecurityContext {
  return {
    runAsNonRoot: true,
    ...defined({
      runAsUser: given?.runAsUser ?? ids.user,
      runAsGroup: given?.runAsGroup ?? ids.group,
      fsGroup: given?.fsGroup ?? ids.fsGroup,
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
