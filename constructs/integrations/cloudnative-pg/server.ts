import { POSTGRES_PORT } from '../../kit/constants.generated.js';
import {
  requireServer,
  whyServerNotReady,
  type DatabaseOperatorServer,
  type ServerProps,
  type ServerStatus,
} from '../../kit/database-operator.js';
import type { ClusterReader } from '../../kit/kind.js';
import { serviceHost } from '../../kit/names.js';
import type { Resource } from '../../kit/object.js';
import { PostgresCluster } from './kinds.js';

/** The Service of a Cluster's primary, which takes writes. */
export function primaryService(cluster: string): string {
  return `${cluster}-rw`;
}

/** Reads a Cluster. */
export function readCluster(props: ServerProps, reader: ClusterReader): DatabaseOperatorServer {
  const { ref, namespace, clusterDomain } = props;
  const { notReady, caSecret } = requireServer(
    reader,
    PostgresCluster,
    { ...props, field: 'clusterRef' },
    outlineOf,
  );
  const host = serviceHost(primaryService(ref.name), namespace, clusterDomain);
  const common = { notReady, caSecret: caSecret ?? `${ref.name}-ca`, tlsRequired: false };
  return { host, port: POSTGRES_PORT, ...common };
}

/** What is read of a Cluster's status. */
interface ClusterStatus extends ServerStatus {
  readonly certificates?: { readonly serverCASecret?: unknown };
}

function outlineOf(object: Resource<unknown, ClusterStatus | null>) {
  const secret = object.status?.certificates?.serverCASecret;
  return {
    notReady: whyServerNotReady(object),
    caSecret: typeof secret === 'string' && secret !== '' ? secret : undefined,
  };
}
