import type { Construct } from 'constructs';
import {
  PrometheusRule,
  PrometheusRuleSpecGroupsRulesExpr as Expr,
} from '../../../imports/monitoring.coreos.com.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: object;
  readonly annotations: object;
}

export interface AlertRulesProps {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

/** Alerts, for Prometheus to evaluate. */
export class AlertRules extends PrometheusRule {
  constructor(scope: Construct, id: string, { groups, ...metadata }: AlertRulesProps) {
    super(scope, id, {
      metadata: { ...metadata, labels: { ...metadata.labels } },
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
  }
}
