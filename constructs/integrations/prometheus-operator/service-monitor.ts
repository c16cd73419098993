import type { Construct } from 'constructs';
import {
  ServiceMonitor,
  ServiceMonitorSpecEndpointsMetricRelabelingsAction as Action,
  ServiceMonitorSpecEndpointsScheme as Scheme,
} from '../../../imports/monitoring.coreos.com.js';

const ENDPOINT = { path: '/metrics', interval: '30s' };

export interface ServiceMonitorProps {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Labels of the Services to scrape. */
  readonly selector: Readonly<Record<string, string>>;
}

/** Scrapes the exporters of benches. */
export class WorkloadMonitor extends ServiceMonitor {
  /** @param namespaces all where empty */
  constructor(
    scope: Construct,
    id: string,
    props: ServiceMonitorProps & { readonly namespaces: readonly string[] },
  ) {
    const { name, namespace, labels, selector, namespaces } = props;
    super(scope, id, {
      metadata: { name, namespace, labels: { ...labels } },
      spec: {
        endpoints: [
          {
            ...ENDPOINT,
            port: 'metrics',
            // An exporter must not claim another namespace: the namespace of the target counts.
            metricRelabelings: [{ action: Action.LABELDROP, regex: '(exported_)+namespace' }],
          },
        ],
        // The exporter has a limit of its own below: see MOST_SERVERS and MOST_QUEUES there.
        sampleLimit: 10_000,
        namespaceSelector: namespaces.length > 0 ? { matchNames: [...namespaces] } : { any: true },
        selector: { matchLabels: { ...selector } },
      },
    });
  }
}

/** Scrapes the operator itself, over HTTPS. */
export class OperatorMonitor extends ServiceMonitor {
  constructor(scope: Construct, id: string, props: ServiceMonitorProps) {
    const { name, namespace, labels, selector } = props;
    super(scope, id, {
      metadata: { name, namespace, labels: { ...labels } },
      spec: {
        endpoints: [
          {
            ...ENDPOINT,
            port: 'https',
            // The operator's series name many namespaces, which that of its pod must not replace.
            honorLabels: true,
            scheme: Scheme.HTTPS,
            bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
            // The certificate is self-signed.
            tlsConfig: { insecureSkipVerify: true },
          },
        ],
        selector: { matchLabels: { ...selector } },
      },
    });
  }
}
