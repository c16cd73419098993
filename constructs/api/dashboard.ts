import type { Opaque } from '../kit/api.js';
import type { Resource } from '../kit/object.js';
import type {
  ChartRef,
  DocumentDeletionPolicy,
  DocumentName,
  DocumentScoped,
  DocumentStatus,
} from './site-scoped.js';

/** A dashboard of a site. */
export type SiteDashboard = Resource<SiteDashboardSpec, SiteDashboardStatus>;

/** What the dashboard should be. */
export interface SiteDashboardSpec extends DocumentScoped {
  /** Name of the dashboard in the site.
   * @cel self == oldSelf ;; dashboardName is immutable: it is the dashboard's name in the site */
  readonly dashboardName: DocumentName;
  /** Charts, in order.
   * @minItems 1
   * @maxItems 50
   * @listType atomic */
  readonly charts: readonly DashboardChart[];
  /** Names of Number Cards in the site, in order.
   * @maxItems 50
   * @listType set */
  readonly cards?: readonly DocumentName[];
  /** Module that the dashboard belongs to. */
  readonly module?: DocumentName;
  /** Whether the dashboard is the one that opens first. A site has one: a second SiteDashboard that wants to be it is refused.
   * @default false */
  readonly isDefault: boolean;
  /** Options of every chart, as Frappe Charts takes them. */
  readonly chartOptions?: Opaque;
  /** What happens to the dashboard when the object is deleted.
   * @default Delete */
  readonly deletionPolicy: DocumentDeletionPolicy;
}

/** A chart on the dashboard. */
export interface DashboardChart {
  /** The chart. */
  readonly chart: ChartRef;
  /** Its width.
   * @default Full */
  readonly width: 'Half' | 'Full';
}

/** What the dashboard is. */
export interface SiteDashboardStatus extends DocumentStatus {
  /** Charts that the dashboard waits for.
   * @listType set */
  readonly missing?: readonly string[];
}
