import type { Resource } from './object.js';

/** Further fields of a resource in the output of `app-operator status -o json`, by name. */
export type StatusDetails = Readonly<Record<string, string | number | null | undefined>>;

/** A column of a resource's line in the tree. */
export interface StatusColumn {
  readonly text: string;
  /** RFC 3339: the age is appended, as in `backup 10h ago`. */
  readonly time?: string;
  readonly tone?: 'link' | 'warning';
}

/** A resource in the tree. */
export interface StatusNode {
  readonly kind: string;
  readonly details: object;
}

/** What `app-operator status` shows of the resources of a kind, besides their state and phase. */
export interface StatusView<R extends Resource = Resource> {
  /** @param children the resources that are shown below this one */
  details?(resource: R, children: readonly StatusNode[]): StatusDetails;
  /** Columns from what `details` has returned. */
  columns?(details: StatusDetails): readonly StatusColumn[];
  /** A message for a resource that is Ready, such as the failure of the last scheduled run. */
  notice?(resource: R): string | undefined;
  /** Whether Ready resources share one line. */
  readonly collapsed?: true;
  readonly exporter?: MetricsExporter<R>;
}

/** A Service with a port `metrics`, one for each resource of the kind. */
export interface MetricsExporter<R extends Resource = Resource> {
  serviceName(resource: R): string;
  /** The waiting jobs in a scrape, by the name of the Deployment that takes them. */
  queueLengths(scrape: string, resource: R): ReadonlyMap<string, number>;
}
