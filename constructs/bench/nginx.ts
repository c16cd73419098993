import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import type { BenchModel } from '../frappe/bench-model.js';
import {
  NGINX_CONFIG_DIR,
  NGINX_PORT,
  NGINX_RUN_DIR,
  SCRIPTS_DIR,
} from '../kit/constants.generated.js';
import { PodService } from '../frappe/service.js';
import { Workload } from '../frappe/workload.js';
import type { Resources } from '../kit/api.js';
import { childLabels } from '../kit/labels.js';
import { benchNames } from '../kit/names.js';
import type { AppBench } from './api.js';

export interface NginxProps {
  readonly bench: BenchModel;
  readonly owner: AppBench;
  readonly replicas: number;
  readonly resources?: Resources | undefined;
  /** The files of the configuration, by name. */
  readonly config: Readonly<Record<string, string>>;
}

/** The proxy in front of all sites of a bench: Service, Deployment, configuration. */
export class Nginx extends Construct {
  constructor(scope: Construct, id: string, props: NginxProps) {
    super(scope, id);
    const { bench, owner } = props;
    const names = benchNames(bench.name);
    const name = names.nginx;
    const component = 'nginx';
    const { namespace } = bench;
    const labels = childLabels(owner, component);
    new k8s.KubeConfigMap(this, 'config', {
      metadata: {
        name: names.nginxConfig,
        namespace,
        labels,
        annotations: { [bench.metadataKeys.mountedBy]: name },
      },
      data: { ...props.config },
    });
    new PodService(this, 'service', {
      owner,
      name,
      namespace,
      component,
      ports: { http: NGINX_PORT },
    });
    const assets = {
      httpGet: { path: '/assets/assets.json', port: k8s.IntOrString.fromNumber(NGINX_PORT) },
    };
    new Workload(this, 'workload', {
      bench,
      owner,
      name,
      component,
      replicas: props.replicas,
      readsAssets: true,
      terminationGracePeriodSeconds: 40,
      container: {
        name: component,
        command: ['bash', `${SCRIPTS_DIR}/nginx.sh`],
        ports: [{ name: 'http', containerPort: NGINX_PORT, protocol: 'TCP' }],
        resources: props.resources,
        readinessProbe: { ...assets, periodSeconds: 5, timeoutSeconds: 5 },
        livenessProbe: {
          tcpSocket: { port: k8s.IntOrString.fromNumber(NGINX_PORT) },
          periodSeconds: 10,
          timeoutSeconds: 5,
          failureThreshold: 6,
        },
        lifecycle: { preStop: { exec: { command: ['sleep', '5'] } } },
        writesSites: false,
        // The configuration is not part of the pods: nginx reloads it without losing a request.
        extraMounts: [
          { name: 'nginx-config', mountPath: NGINX_CONFIG_DIR, readOnly: true },
          { name: 'scratch', mountPath: NGINX_RUN_DIR, subPath: 'nginx' },
        ],
      },
      extraVolumes: [{ name: 'nginx-config', configMap: { name: names.nginxConfig } }],
    });
  }
}
