import { MARIADB_PORT } from '../../kit/constants.generated.js';
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
import { ExternalMariaDb, MariaDb } from './kinds.js';

/** What is read of a MariaDB or of an ExternalMariaDB. */
interface MariaDbSpec {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly replication?: { readonly enabled?: boolean };
  readonly galera?: { readonly enabled?: boolean };
  readonly tls?: {
    readonly enabled?: boolean;
    readonly required?: boolean;
    readonly serverCASecretRef?: { readonly name?: unknown };
  };
}

/** Reads a MariaDB or an ExternalMariaDB. */
export function readMariaDb(props: ServerProps, reader: ClusterReader): DatabaseOperatorServer {
  const { name, kind = MariaDb.kind } = props.ref;
  const api = kind === MariaDb.kind ? MariaDb : ExternalMariaDb;
  const server = requireServer(reader, api, { ...props, field: 'mariadbRef' }, outlineOf);
  const { namespace = props.namespace } = props.ref;
  const service = server.replicated ? `${name}-primary` : name;
  return {
    host: server.host ?? serviceHost(service, namespace, props.clusterDomain),
    port: server.port,
    notReady: server.notReady,
    // Pods can mount Secrets of their own namespace only.
    caSecret:
      server.tls && namespace === props.namespace
        ? (server.caSecret ?? `${name}-ca-bundle`)
        : undefined,
    // Where the bench names a host, a proxy such as MaxScale makes the connection to the server.
    tlsRequired: server.tlsRequired && !props.hostGiven,
  };
}

function outlineOf(object: Resource<MariaDbSpec | null | undefined, ServerStatus>) {
  const { host, port, replication, galera, tls } = object.spec ?? {};
  return {
    notReady: whyServerNotReady(object),
    host: typeof host === 'string' ? host : undefined,
    port: typeof port === 'number' ? port : MARIADB_PORT,
    // Of several replicas only one takes writes, behind another Service.
    replicated: replication?.enabled === true || galera?.enabled === true,
    tls: tls?.enabled === true,
    tlsRequired: tls?.enabled === true && tls.required === true,
    // An ExternalMariaDB names the CA; of a MariaDB the operator keeps a bundle of old and new CAs.
    caSecret: object.kind === ExternalMariaDb.kind ? nameOf(tls?.serverCASecretRef) : undefined,
  };
}

function nameOf(reference: { readonly name?: unknown } | undefined): string | undefined {
  return typeof reference?.name === 'string' ? reference.name : undefined;
}
