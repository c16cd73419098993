import { POSTGRES_PORT } from '../../kit/constants.generated.js';
import {
  requireServer,
  whyServerNotReady,
  type DatabaseOperatorServer,
  type ServerProps,
} from '../../kit/database-operator.js';
import type { ClusterReader } from '../../kit/kind.js';
import { serviceHost } from '../../kit/names.js';
import { PostgresCluster } from './kinds.js';

/** The Service of a Cluster's primary, which takes writes. */
export function primaryService(cluster: string): string {
  return `${cluster}-rw`;
}

/** Reads a Cluster. */
export function readCluster(props: ServerProps, reader: ClusterReader): DatabaseOperatorServer {
  const { ref, namespace, clusterDomain } = props;
  const { notReady } = requireServer(
    reader,
    PostgresCluster,
    { ...props, field: 'clusterRef' },
    outlineOf,
  );
  const host = serviceHost(primaryService(ref.name), namespace, clusterDomain);
  return { host, port: POSTGRES_PORT, notReady };
}

function outlineOf(object: Parameters<typeof whyServerNotReady>[0]) {
  return { notReady: whyServerNotReady(object) };
}
