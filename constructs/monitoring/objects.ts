import { App, Chart } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import {
  PrometheusRule as Rule,
  PrometheusRuleSpecGroupsRulesExpr as Expr,
  ServiceMonitor as Monitor,
  ServiceMonitorSpecEndpointsMetricRelabelingsAction as Action,
  ServiceMonitorSpecEndpointsScheme as Scheme,
} from '../../imports/monitoring.coreos.com.js';
import { CONTROL_PLANE, OPERATOR, OPERATOR_LABELS } from '../install/identity.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../kit/labels.js';
import type { KubeObject } from '../kit/object.js';
import { ConfigMap, kindId, type ObjectKind } from '../kit/object-kind.js';
import { dashboardJson } from './dashboard.js';
import { RULE_GROUPS, WORKLOAD_RULES } from './rules.js';

const monitoring = (kind: string, plural: string): ObjectKind => ({
  apiVersion: 'monitoring.coreos.com/v1',
  kind,
  plural,
  optional: true,
});
export const ServiceMonitorKind = monitoring('ServiceMonitor', 'servicemonitors');
export const PrometheusRuleKind = monitoring('PrometheusRule', 'prometheusrules');

export interface MonitoringProps {
  /** The operator's own namespace, where all of it is. */
  readonly namespace: string;
  /** The namespaces whose benches are scraped. @default all */
  readonly watchNamespaces?: readonly string[] | undefined;
  /** Whether the operator's own metrics can be scraped: what reads only them is of no use otherwise. @default true */
  readonly scraped?: boolean;
}

/** What tells a Prometheus operator, and a Grafana beside it, of the operator and of its benches. */
export class Monitoring extends Construct {
  constructor(scope: Construct, id: string, props: MonitoringProps) {
    super(scope, id);
    const { namespace, watchNamespaces = [], scraped = true } = props;
    const labels = { ...OPERATOR_LABELS, ...CONTROL_PLANE, [MANAGED_BY_LABEL]: MANAGED_BY };
    const common = { path: '/metrics', interval: '30s' };
    new Monitor(this, 'workloads', {
      metadata: { name: OPERATOR.workloadMonitor, namespace, labels },
      spec: {
        endpoints: [
          {
            ...common,
            port: 'metrics',
            // Whoever may make a Service could tell of other namespaces: where the target is decides.
            metricRelabelings: [{ action: Action.LABELDROP, regex: '(exported_)+namespace' }],
          },
        ],
        namespaceSelector:
          watchNamespaces.length > 0 ? { matchNames: [...watchNamespaces] } : { any: true },
        selector: {
          matchLabels: {
            [MANAGED_BY_LABEL]: MANAGED_BY,
            'app.kubernetes.io/component': 'metrics',
          },
        },
      },
    });
    if (scraped) {
      new Monitor(this, 'operator', {
        metadata: { name: OPERATOR.serviceMonitor, namespace, labels },
        spec: {
          endpoints: [
            {
              ...common,
              port: 'https',
              // It tells of all namespaces: that of its pod must not replace them.
              honorLabels: true,
              scheme: Scheme.HTTPS,
              bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
              // The certificate is the operator's own, which nobody has signed.
              tlsConfig: { insecureSkipVerify: true },
            },
          ],
          selector: { matchLabels: { ...CONTROL_PLANE } },
        },
      });
    }
    const groups = scraped
      ? RULE_GROUPS
      : RULE_GROUPS.filter(({ name }) => name === WORKLOAD_RULES);
    new Rule(this, 'rules', {
      metadata: { name: OPERATOR.prometheusRule, namespace, labels },
      spec: {
        groups: groups.map(({ name, rules }) => ({
          name,
          rules: rules.map((rule) => ({
            ...rule,
            expr: Expr.fromString(rule.expr),
            labels: { ...rule.labels },
            annotations: { ...rule.annotations },
          })),
        })),
      },
    });
    if (!scraped) return;
    new k8s.KubeConfigMap(this, 'dashboard', {
      // Grafana's sidecar, as in kube-prometheus-stack, looks for this label.
      metadata: {
        name: OPERATOR.dashboard,
        namespace,
        labels: { ...labels, grafana_dashboard: '1' },
      },
      data: { 'app-operator.json': dashboardJson() },
    });
  }
}

/** An object that the operator makes for itself where an API is served. */
export interface OwnObject {
  readonly object: KubeObject;
  readonly kind: ObjectKind;
  /** The kind whose API has to be there. */
  readonly with: ObjectKind;
}

/** The monitoring of an operator as objects: a dashboard comes with the rules. */
export function monitoringObjects(props: MonitoringProps): readonly OwnObject[] {
  const chart = new Chart(new App(), 'monitoring');
  new Monitoring(chart, 'monitoring', props);
  const kinds = [ServiceMonitorKind, PrometheusRuleKind, ConfigMap];
  return (chart.toJson() as KubeObject[]).map((object) => {
    const kind = kinds.find((known) => kindId(known) === kindId(object));
    if (!kind) throw new Error(`${object.kind} is not a kind of monitoring`);
    return { object, kind, with: kind.optional ? kind : PrometheusRuleKind };
  });
}
