import { Construct } from 'constructs';
import * as k8s from '../../kit/k8s.js';
import { NGINX_REQUESTS } from '../../frappe/default-resources.js';
import {
  NGINX_CONFIG_DIR,
  NGINX_PORT,
  NGINX_RUN_DIR,
  SCRIPTS_DIR,
} from '../../kit/constants.generated.js';
import { PodService } from '../../frappe/service.js';
import { WorkloadConstruct } from '../../frappe/workload.js';
import { childLabels } from '../../kit/labels.js';
import { benchNames } from '../../kit/names.js';
import type { NginxConfig } from './nginx-config.js';
import type { ConfigFiles } from './nginx-maps.js';
import type { BenchComponentProps } from './component-props.js';

export interface NginxProps extends BenchComponentProps {
  readonly config: NginxConfig;
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
    const configMaps = new NginxConfigMaps(this, 'config', props);
    new PodService(this, 'service', {
      owner,
      name,
      namespace,
      component,
      ports: { http: NGINX_PORT },
    });
    const assets = {
      httpGet: { path: '/assets/assets.json', port: NGINX_PORT },
    };
    new WorkloadConstruct(this, 'workload', {
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
        resources: props.resources ?? NGINX_REQUESTS,
        readinessProbe: { ...assets, periodSeconds: 5, timeoutSeconds: 5 },
        livenessProbe: {
          tcpSocket: { port: NGINX_PORT },
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
      extraVolumes: [configMaps.volume],
    });
  }
}

/** The ConfigMaps of the configuration. */
class NginxConfigMaps extends Construct {
  /** What nginx mounts. */
  readonly volume: k8s.Volume;

  constructor(scope: Construct, id: string, { bench, owner, config }: NginxProps) {
    super(scope, id);
    const { nginx, nginxConfig } = benchNames(bench.name);
    const { files, parts } = config;
    const [first, ...others] = configMapNames(nginxConfig, parts.length);
    const add = (child: string, name: string, data: ConfigFiles): void => {
      new k8s.KubeConfigMap(this, child, {
        metadata: {
          name,
          namespace: bench.namespace,
          labels: childLabels(owner, 'nginx'),
          annotations: { [bench.metadataKeys.mountedBy]: nginx },
        },
        data: { ...data },
      });
    };
    add('Default', first, files);
    for (const [index, name] of others.entries()) add(`part-${index}`, name, parts[index] ?? {});
    const sources = [first, ...others].map((name) => ({ configMap: { name } }));
    this.volume = {
      name: 'nginx-config',
      ...(others.length === 0 ? { configMap: { name: first } } : { projected: { sources } }),
    };
  }
}

/**
 * The names have the number of parts: the pods that a rollout replaces keep the ConfigMaps that fit
 * together.
 */
function configMapNames(name: string, parts: number): [string, ...string[]] {
  if (parts === 0) return [name];
  const first = `${name}-${parts}`;
  return [first, ...Array.from({ length: parts }, (_, index) => `${first}-${index}`)];
}
