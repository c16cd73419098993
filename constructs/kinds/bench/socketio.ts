import { Construct } from 'constructs';
import { SOCKETIO_REQUESTS } from '../../frappe/default-resources.js';
import {
  BENCH_DIR,
  REDIS_CA_FILE,
  SCRIPTS_DIR,
  SOCKETIO_ORIGIN_PORT,
  SOCKETIO_PORT,
} from '../../kit/constants.generated.js';
import { nginxAddress, SITES_DIR } from '../../frappe/pod.js';
import { scriptHash } from '../../frappe/script-modules.js';
import { PodService } from '../../frappe/service.js';
import { WorkloadConstruct } from '../../frappe/workload.js';
import { hashOf } from '../../kit/json/hash.js';
import { benchNames } from '../../kit/names.js';
import type { BenchComponentProps } from './component-props.js';

export interface SocketioProps extends BenchComponentProps {
  readonly configHash: string;
}

/** Loaded before the server: its requests to the sites go to nginx. */
const PRELOAD = 'socketio_sites.cjs';
const PRELOAD_HASH = scriptHash(PRELOAD);

/** The realtime server, and its Service. */
export class Socketio extends Construct {
  constructor(scope: Construct, id: string, props: SocketioProps) {
    super(scope, id);
    const { bench, owner } = props;
    const names = benchNames(bench.name);
    const name = names.socketio;
    const component = 'socketio';
    new PodService(this, 'service', {
      owner,
      name,
      namespace: bench.namespace,
      component,
      ports: { http: SOCKETIO_PORT },
      // Long polling needs every request of a client to reach the same server.
      sessionAffinity: 'ClientIP',
    });
    if (props.replicas > 1) {
      // Every pod of nginx chooses the same pod for a site.
      new PodService(this, 'pods', {
        owner,
        name: names.socketioPods,
        workload: name,
        namespace: bench.namespace,
        component,
        ports: { http: SOCKETIO_PORT },
        headless: true,
      });
    }
    const open = { tcpSocket: { port: SOCKETIO_PORT } };
    new WorkloadConstruct(this, 'workload', {
      bench,
      owner,
      name,
      component,
      replicas: props.replicas,
      configHash: hashOf([props.configHash, PRELOAD_HASH]),
      container: {
        name: component,
        command: [
          'sh',
          `${SCRIPTS_DIR}/run.sh`,
          'node',
          '--require',
          `${SCRIPTS_DIR}/${PRELOAD}`,
          `${BENCH_DIR}/apps/frappe/socketio.js`,
        ],
        env: [
          ...nginxAddress(bench),
          { name: 'SOCKETIO_ORIGIN_PORT', value: String(SOCKETIO_ORIGIN_PORT) },
          ...(bench.redis.external && bench.redis.ca
            ? [{ name: 'OPERATOR_NODE_CA_FILE', value: `${SITES_DIR}/${REDIS_CA_FILE}` }]
            : []),
        ],
        ports: [{ name: 'http', containerPort: SOCKETIO_PORT, protocol: 'TCP' }],
        resources: props.resources ?? SOCKETIO_REQUESTS,
        // On a busy node a start takes minutes; it must not be mistaken for a hang.
        startupProbe: { ...open, periodSeconds: 2, failureThreshold: 150 },
        readinessProbe: { ...open, periodSeconds: 5, timeoutSeconds: 5 },
        livenessProbe: { ...open, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
        // It closes its sockets when it ends: clients that connect again must find another pod.
        lifecycle: { preStop: { exec: { command: ['sleep', '5'] } } },
      },
    });
  }
}
