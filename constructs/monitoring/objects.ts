import { App, Chart } from 'cdk8s';
import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import {
  CONTROL_PLANE,
  OPERATOR,
  OPERATOR_LABELS,
  OPERATOR_SELECTOR,
} from '../kit/operator-identity.js';
import { PrometheusRule, ServiceMonitor } from '../integrations/prometheus-operator/kinds.js';
import { AlertRules } from '../integrations/prometheus-operator/prometheus-rule.js';
import {
  OperatorMonitor,
  WorkloadMonitor,
} from '../integrations/prometheus-operator/service-monitor.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../kit/labels.js';
import type { KubeObject } from '../kit/object.js';
import { ConfigMap, kindId, type ObjectKind } from '../kit/object-kind.js';
import { dashboardJson } from './dashboard.js';
import { RULE_GROUPS, WORKLOAD_RULES } from './rules.js';

/** Where the monitoring objects of the operator are created. */
export interface MonitoringProps {
  /** The operator's own namespace, where all of it is. */
  readonly namespace: string;
  /** The namespaces whose benches are scraped. @default all */
  readonly watchNamespaces?: readonly string[] | undefined;
  /**
   * Whether the operator's own metrics can be scraped. Otherwise their alerts and dashboard are
   * left out.
   * @default true
   */
  readonly scraped?: boolean;
}

/** ServiceMonitors, alerts and a dashboard of the operator and of its benches. */
export class Monitoring extends Construct {
  constructor(scope: Construct, id: string, props: MonitoringProps) {
    super(scope, id);
    const { namespace, watchNamespaces = [], scraped = true } = props;
    const labels = { ...OPERATOR_LABELS, ...CONTROL_PLANE, [MANAGED_BY_LABEL]: MANAGED_BY };
    const common = { namespace, labels };
    new WorkloadMonitor(this, 'workloads', {
      ...common,
      name: OPERATOR.workloadMonitor,
      selector: {
        [MANAGED_BY_LABEL]: MANAGED_BY,
        'app.kubernetes.io/component': 'metrics',
      },
      namespaces: watchNamespaces,
    });
    if (scraped) {
      const selector = OPERATOR_SELECTOR;
      const name = OPERATOR.serviceMonitor;
      new OperatorMonitor(this, 'operator', { ...common, name, selector });
    }
    new AlertRules(this, 'rules', {
      ...common,
      name: OPERATOR.prometheusRule,
      groups: RULE_GROUPS.filter(({ name }) => scraped || name === WORKLOAD_RULES),
    });
    if (!scraped) return;
    new k8s.KubeConfigMap(this, 'dashboard', {
      // Grafana's sidecar, as in kube-prometheus-stack, selects ConfigMaps by this label.
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
  /** The kind whose API must be served. */
  readonly with: ObjectKind;
}

/** The monitoring of an operator as objects: a dashboard comes with the rules. */
export function monitoringObjects(props: MonitoringProps): readonly OwnObject[] {
  const chart = new Chart(new App(), 'monitoring');
  new Monitoring(chart, 'monitoring', props);
  const kinds = [ServiceMonitor, PrometheusRule, ConfigMap];
  return (chart.toJson() as KubeObject[]).map((object) => {
    const kind = kinds.find((known) => kindId(known) === kindId(object));
    if (!kind) throw new Error(`${object.kind} is not a kind of monitoring`);
    return { object, kind, with: kind.optional ? kind : PrometheusRule };
  });
}
