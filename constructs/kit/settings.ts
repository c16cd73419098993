/** What the operator's administrator decides for every resource. The runner reads it from its flags and environment. */
export interface Settings {
  /** Security defaults, where a spec gives none. */
  readonly defaultUid: number;
  readonly defaultGid: number;
  readonly defaultFsGroup: number;
  /** The cluster's DNS domain. */
  readonly clusterDomain: string;
}

/** The built-in defaults. They work on platforms that assign arbitrary user ids. */
export const DEFAULT_SETTINGS: Settings = {
  defaultUid: 1001,
  defaultGid: 0,
  defaultFsGroup: 0,
  clusterDomain: 'cluster.local',
};
