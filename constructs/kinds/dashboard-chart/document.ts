import { storedFilters } from '../../batches/documents/desk-filters.js';
import type { FieldValue, SiteDocument } from '../../kit/document.js';
import type { SiteDashboardChart, SiteDashboardChartSpec } from '../../api/dashboard-chart.js';

export const DOCTYPE = 'Dashboard Chart';

const SERIES = new Set(['Count', 'Sum', 'Average']);

/**
 * The Dashboard Chart of a spec. Fields without a value are empty, as in a new chart of the desk.
 */
export function chartDocument({ spec }: Pick<SiteDashboardChart, 'spec'>): SiteDocument {
  return {
    doctype: DOCTYPE,
    name: spec.chartName,
    state: 'present',
    fields: {
      ...constants(spec),
      type: spec.type,
      ...source(spec),
      module: spec.module ?? '',
      is_public: spec.isPublic,
      color: spec.color ?? '',
      ...(spec.customOptions ? {} : { custom_options: '' }),
      ...(spec.dynamicFilters ? {} : { dynamic_filters_json: '' }),
    },
    json: {
      filters_json: ofDocuments(spec)
        ? storedFilters(spec.filters, spec.documentType ?? '')
        : (spec.reportFilters ?? {}),
      ...(spec.dynamicFilters ? { dynamic_filters_json: dynamicFilters(spec) } : {}),
      ...(spec.customOptions ? { custom_options: spec.customOptions } : {}),
    },
    tables: {
      y_axis: (spec.yAxis ?? []).map(({ yField, color }) => ({
        y_field: yField,
        color: color ?? '',
      })),
      roles: (spec.roles ?? []).map((role) => ({ role })),
    },
    secrets: {},
    needs: [],
  };
}

/** Whether the figures are of documents, and not of a report or of code. */
function ofDocuments({ chartType }: SiteDashboardChartSpec): boolean {
  return chartType !== 'Report' && chartType !== 'Custom';
}

/**
 * Fields that are immutable in Frappe, even from null to empty: without a value they are omitted.
 */
function constants(spec: SiteDashboardChartSpec): Readonly<Record<string, FieldValue>> {
  return {
    chart_name: spec.chartName,
    chart_type: spec.chartType,
    ...(spec.documentType === undefined ? {} : { document_type: spec.documentType }),
    ...(spec.reportName === undefined ? {} : { report_name: spec.reportName }),
  };
}

/** Where the figures come from, by the chart's type. */
function source(spec: SiteDashboardChartSpec): Readonly<Record<string, FieldValue>> {
  if (spec.chartType === 'Custom') return { source: spec.source ?? '' };
  if (spec.chartType === 'Report') {
    return { timeseries: false, use_report_chart: spec.useReportChart, x_field: spec.xField ?? '' };
  }
  return {
    parent_document_type: spec.parentDocumentType ?? '',
    ...(SERIES.has(spec.chartType) ? timeSeries(spec) : groups(spec)),
  };
}

function groups(spec: SiteDashboardChartSpec): Readonly<Record<string, FieldValue>> {
  return {
    timeseries: false,
    group_by_based_on: spec.groupByBasedOn ?? '',
    group_by_type: spec.groupByType ?? 'Count',
    aggregate_function_based_on: spec.aggregateFunctionBasedOn ?? '',
    number_of_groups: spec.numberOfGroups ?? 0,
  };
}

function timeSeries(spec: SiteDashboardChartSpec): Readonly<Record<string, FieldValue>> {
  return {
    timeseries: true,
    based_on: spec.basedOn ?? '',
    value_based_on: spec.valueBasedOn ?? '',
    timespan: spec.timespan ?? 'Last Year',
    time_interval: spec.timeInterval ?? 'Yearly',
    from_date: spec.fromDate ?? null,
    to_date: spec.toDate ?? null,
    heatmap_year: spec.heatmapYear === undefined ? '' : String(spec.heatmapYear),
  };
}

/** A list for documents, an object for reports and code: both as the desk evaluates them. */
function dynamicFilters(spec: SiteDashboardChartSpec): unknown {
  const filters = spec.dynamicFilters ?? [];
  if (ofDocuments(spec)) {
    const type = spec.documentType ?? '';
    return filters.map(({ field, operator, expression }) => [type, field, operator, expression]);
  }
  return Object.fromEntries(filters.map(({ field, expression }) => [field, expression]));
}
