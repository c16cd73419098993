/**
 * What the operator's administrator decides for every resource. The runner reads it from its flags
 * and environment.
 */
export interface Settings {
  /**
   * Security defaults, where a spec gives none.
   * @default DEFAULT_IDS, or what the platform assigns
   */
  readonly defaultUid?: number;
  readonly defaultGid?: number;
  readonly defaultFsGroup?: number;
  /** The cluster's DNS domain. */
  readonly clusterDomain: string;
  /** The namespace that KEDA's operator runs in. */
  readonly kedaNamespace: string;
  /** The namespace that this operator runs in. */
  readonly operatorNamespace: string;
}

/** The settings of an operator without flags. */
export const DEFAULT_SETTINGS: Settings = {
  clusterDomain: 'cluster.local',
  kedaNamespace: 'keda',
  operatorNamespace: 'app-operator-system',
};

/**
 * The built-in ids, where neither a spec nor the settings have others, and the platform assigns
 * none.
 */
export const DEFAULT_IDS = { defaultUid: 1001, defaultGid: 0, defaultFsGroup: 0 } as const;

/** The largest uid or gid that Kubernetes accepts. */
export const MAX_ID = 2147483647;
