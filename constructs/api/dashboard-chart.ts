import type { Opaque } from '../kit/api.js';
import type { Resource } from '../kit/object.js';
import type {
  Color,
  DocumentDeletionPolicy,
  DocumentFilter,
  DocumentName,
  DocumentScoped,
  DocumentStatus,
  FieldName,
} from './site-scoped.js';

/** A chart for the dashboards and workspaces of a site. */
export type SiteDashboardChart = Resource<SiteDashboardChartSpec, SiteDashboardChartStatus>;

/** What the chart should be.
 * @cel !(self.chartType in ['Count', 'Sum', 'Average', 'Group By']) || has(self.documentType) ;; chart types Count, Sum, Average and Group By need documentType
 * @cel !(self.chartType in ['Count', 'Sum', 'Average']) || has(self.basedOn) ;; chart types Count, Sum and Average need basedOn, a date field
 * @cel !(self.chartType in ['Sum', 'Average']) || has(self.valueBasedOn) ;; chart types Sum and Average need valueBasedOn
 * @cel self.chartType != 'Group By' || has(self.groupByBasedOn) ;; chart type Group By needs groupByBasedOn
 * @cel !has(self.groupByType) || self.groupByType == 'Count' || has(self.aggregateFunctionBasedOn) ;; groupByType Sum and Average need aggregateFunctionBasedOn
 * @cel self.chartType == 'Group By' || !(has(self.groupByBasedOn) || has(self.groupByType) || has(self.aggregateFunctionBasedOn) || has(self.numberOfGroups)) ;; groupByBasedOn, groupByType, aggregateFunctionBasedOn and numberOfGroups belong to chart type Group By
 * @cel self.chartType != 'Report' || has(self.reportName) ;; chart type Report needs reportName
 * @cel self.chartType != 'Report' || self.useReportChart || (has(self.xField) && has(self.yAxis)) ;; chart type Report needs xField and yAxis, or useReportChart
 * @cel self.chartType == 'Report' || !(has(self.reportName) || has(self.xField) || has(self.yAxis) || self.useReportChart) ;; reportName, xField, yAxis and useReportChart belong to chart type Report
 * @cel self.chartType == 'Custom' ? has(self.source) : !has(self.source) ;; chart type Custom needs source, which belongs to no other
 * @cel self.chartType in ['Report', 'Custom'] ? !(has(self.documentType) || has(self.filters)) : !has(self.reportFilters) ;; chart types Report and Custom take reportFilters; the others take documentType and filters
 * @cel self.type != 'Heatmap' || self.chartType in ['Count', 'Sum', 'Average'] ;; type Heatmap works with chart types Count, Sum and Average
 * @cel self.type == 'Heatmap' || !has(self.heatmapYear) ;; heatmapYear belongs to type Heatmap
 * @cel self.chartType in ['Count', 'Sum', 'Average'] || !(has(self.timespan) || has(self.timeInterval)) ;; timespan and timeInterval belong to chart types Count, Sum and Average
 * @cel has(self.timespan) && self.timespan == 'Select Date Range' ? has(self.fromDate) && has(self.toDate) : !(has(self.fromDate) || has(self.toDate)) ;; timespan Select Date Range needs fromDate and toDate, which belong to no other
 * @cel !(has(self.fromDate) && has(self.toDate)) || self.fromDate <= self.toDate ;; fromDate must not be after toDate */
export interface SiteDashboardChartSpec extends DocumentScoped {
  /** Name of the chart in the site.
   * @cel self == oldSelf ;; chartName is immutable: it is the chart's name in the site */
  readonly chartName: DocumentName;
  /** Where the figures come from.
   * @cel self == oldSelf ;; chartType is immutable: the framework does not change it in an existing chart */
  readonly chartType: 'Count' | 'Sum' | 'Average' | 'Group By' | 'Custom' | 'Report';
  /** How the figures are drawn.
   * @default Line */
  readonly type: 'Line' | 'Bar' | 'Percentage' | 'Pie' | 'Donut' | 'Heatmap';
  /** Document type whose documents are counted. Single document types have none.
   * @cel self == oldSelf ;; documentType is immutable: the framework does not change it in an existing chart */
  readonly documentType?: DocumentName;
  /** Document type that holds the rows, where `documentType` is a child table. */
  readonly parentDocumentType?: DocumentName;
  /** Date field that puts the documents in time, such as `creation`. */
  readonly basedOn?: FieldName;
  /** Field whose values are summed or averaged. */
  readonly valueBasedOn?: FieldName;
  /** How far the chart reaches back. By default `Last Year`. */
  readonly timespan?:
    'Last Year' | 'Last Quarter' | 'Last Month' | 'Last Week' | 'Select Date Range';
  /** First day of timespan Select Date Range. */
  readonly fromDate?: Day;
  /** Last day of timespan Select Date Range. */
  readonly toDate?: Day;
  /** How long each point is. By default `Yearly`. */
  readonly timeInterval?: 'Yearly' | 'Quarterly' | 'Monthly' | 'Weekly' | 'Daily';
  /** Year of a heat map; the current one when not given.
   * @type integer
   * @format int32
   * @minimum 1970
   * @maximum 2200 */
  readonly heatmapYear?: number;
  /** Field that the documents are grouped by. */
  readonly groupByBasedOn?: FieldName;
  /** What is done with each group. By default `Count`. */
  readonly groupByType?: 'Count' | 'Sum' | 'Average';
  /** Field whose values are summed or averaged in each group. */
  readonly aggregateFunctionBasedOn?: FieldName;
  /** The most groups; the rest are put together. All when not given.
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 1000 */
  readonly numberOfGroups?: number;
  /** Name of the report.
   * @cel self == oldSelf ;; reportName is immutable: the framework does not change it in an existing chart */
  readonly reportName?: DocumentName;
  /** Whether the report's own chart is shown.
   * @default false */
  readonly useReportChart: boolean;
  /** Column of the report for the horizontal axis. */
  readonly xField?: FieldName;
  /** Columns of the report for the vertical axis.
   * @minItems 1
   * @maxItems 20
   * @listType map
   * @listMapKey yField */
  readonly yAxis?: readonly ChartAxis[];
  /** Name of the Dashboard Chart Source of chart type Custom. */
  readonly source?: DocumentName;
  /** Which documents count. By default all.
   * @maxItems 20
   * @listType atomic */
  readonly filters?: readonly DocumentFilter[];
  /** Filters of the report or the source, by name. */
  readonly reportFilters?: Opaque;
  /** Filters whose value is an expression of the desk, evaluated when the chart is shown.
   * @maxItems 20
   * @listType atomic */
  readonly dynamicFilters?: readonly DynamicFilter[];
  /** Module that the chart belongs to. */
  readonly module?: DocumentName;
  /** Whether every user may see the chart, as far as the documents are theirs to see.
   * @default true */
  readonly isPublic: boolean;
  /** Roles that see the chart.
   * @maxItems 100
   * @listType set */
  readonly roles?: readonly DocumentName[];
  /** Colour of the chart. */
  readonly color?: Color;
  /** Options of the chart, as Frappe Charts takes them. */
  readonly customOptions?: Opaque;
  /** What happens to the chart when the object is deleted.
   * @default Delete */
  readonly deletionPolicy: DocumentDeletionPolicy;
}

/** A day, as `2025-01-31`.
 * @minLength 10
 * @maxLength 10
 * @pattern ^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$ */
export type Day = string;

/** A column of a report on the vertical axis. */
export interface ChartAxis {
  /** Name of the column. */
  readonly yField: FieldName;
  /** Colour of its line or bars. */
  readonly color?: Color;
}

/** A filter whose value is evaluated when the chart is shown. */
export interface DynamicFilter {
  /** Name of the field or of the report's filter. */
  readonly field: FieldName;
  /** How a document's field is compared. A report's filters have no operator.
   * @default = */
  readonly operator: '=' | '!=' | '>' | '<' | '>=' | '<=' | 'like' | 'not like';
  /** JavaScript of the desk, such as `frappe.defaults.get_user_default("Company")`.
   * @minLength 1
   * @maxLength 1024 */
  readonly expression: string;
}

/** What the chart is. */
export type SiteDashboardChartStatus = DocumentStatus;
