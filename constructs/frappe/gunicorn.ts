import { Construct } from 'constructs';
import type * as k8s from '../kit/k8s.js';
import type { GunicornSettings, Resources } from '../kit/api.js';
import { childLabels } from '../kit/labels.js';
import type { Resource } from '../kit/object.js';
import type { BenchModel } from './bench-model.js';
import { BENCH_DIR, GUNICORN_PORT, SCRIPTS_DIR } from '../kit/constants.generated.js';
import { gunicornRequests } from './default-resources.js';
import { gunicornSettings } from './gunicorn-settings.js';
import { nginxAddress, SITES_DIR } from './pod.js';
import { PodService } from './service.js';
import { hasSeveral, WebScaler, type WebScale } from './web-scaling.js';
import { WorkloadConstruct } from './workload.js';

const PING = '/api/method/ping';

export interface GunicornProps {
  readonly bench: BenchModel;
  readonly owner: Resource;
  readonly name: string;
  readonly scale: WebScale;
  readonly resources?: Resources | undefined;
  readonly settings?: GunicornSettings | undefined;
  readonly configHash: string;
  /**
   * Host name of the one site that these processes serve; every site of the bench when not given.
   */
  readonly siteName?: string;
}

/** The web processes, their Service, and the HorizontalPodAutoscaler that scales them. */
export class Gunicorn extends Construct {
  constructor(scope: Construct, id: string, props: GunicornProps) {
    super(scope, id);
    const { bench, owner, name, scale, siteName } = props;
    const component = 'gunicorn';
    const settings = gunicornSettings(props.settings, props.resources);
    new PodService(this, 'service', {
      owner,
      name,
      namespace: bench.namespace,
      component,
      ports: { http: GUNICORN_PORT },
    });
    new WorkloadConstruct(this, 'workload', {
      bench,
      owner,
      name,
      component,
      replicas: scale.replicas,
      several: hasSeveral(scale),
      configHash: props.configHash,
      readsAssets: true,
      terminationGracePeriodSeconds: 60,
      container: {
        name: component,
        command: commandOf(settings),
        env: [
          { name: 'PYTHONPATH', value: SCRIPTS_DIR },
          { name: 'IMAGE', value: bench.image.reference },
          ...nginxAddress(bench),
          ...(siteName ? [{ name: 'SITE_NAME', value: siteName }] : []),
        ],
        ports: [{ name: 'http', containerPort: GUNICORN_PORT, protocol: 'TCP' }],
        resources: props.resources ?? gunicornRequests(settings, bench.image),
        livenessProbe: {
          ...ping(),
          initialDelaySeconds: 30,
          periodSeconds: 10,
          timeoutSeconds: 5,
          // gunicorn itself replaces a worker that hangs; the kubelet comes after it.
          failureThreshold: Math.ceil(settings.timeoutSeconds / 10) + 1,
        },
        readinessProbe: {
          ...ping(siteName),
          initialDelaySeconds: 10,
          periodSeconds: 5,
          timeoutSeconds: 5,
        },
        // Endpoints are taken out of rotation while the process still answers.
        lifecycle: { preStop: { exec: { command: ['sleep', '5'] } } },
      },
    });
    if (!scale.scaling) return;
    new WebScaler(this, 'scaler', {
      name,
      namespace: bench.namespace,
      labels: childLabels(owner, component),
      scaling: scale.scaling,
    });
  }
}

function commandOf(settings: Required<GunicornSettings>): readonly string[] {
  return [
    `${BENCH_DIR}/env/bin/gunicorn`,
    `--chdir=${SITES_DIR}`,
    '--config=python:gunicorn_config',
    `--workers=${settings.workers}`,
    `--threads=${settings.threads}`,
    '--worker-class=gunicorn_worker.Worker',
    '--worker-tmp-dir=/dev/shm',
    `--timeout=${settings.timeoutSeconds}`,
    '--graceful-timeout=30',
    `--max-requests=${settings.maxRequests}`,
    `--max-requests-jitter=${settings.maxRequestsJitter}`,
    '--preload',
    'app_operator_wsgi:application',
  ];
}

/** Without a site the WSGI wrapper answers; with one the framework does. */
function ping(siteName?: string): k8s.Probe {
  return {
    httpGet: {
      path: PING,
      port: GUNICORN_PORT,
      ...(siteName ? { httpHeaders: [{ name: 'X-Frappe-Site-Name', value: siteName }] } : {}),
    },
  };
}
