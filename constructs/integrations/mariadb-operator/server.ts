import { MARIADB_PORT } from '../../kit/constants.generated.js';
import {
  requireServer,
  whyServerNotReady,
  type DatabaseOperatorServer,
  type ServerProps,
  type ServerStatus,
} from '../../kit/database-operator.js';
import { Stalled } from '../../kit/errors.js';
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
  readonly tls?: { readonly enabled?: boolean; readonly required?: boolean };
}

/** Reads a MariaDB or an ExternalMariaDB. */
export function readMariaDb(props: ServerProps, reader: ClusterReader): DatabaseOperatorServer {
  const { name, kind = MariaDb.kind } = props.ref;
  const api = kind === MariaDb.kind ? MariaDb : ExternalMariaDb;
  const server = requireServer(reader, api, { ...props, field: 'mariadbRef' }, outlineOf);
  // Where the bench names a host, a proxy such as MaxScale makes the connection to the server.
  if (server.tlsRequired && !props.hostGiven) {
    const message = `spec.dbConfig of AppBench ${props.bench}: ${kind} ${name} takes encrypted connections only (tls.required), which the framework's sites do not make; set tls.required to false`;
    throw new Stalled('DatabaseTlsRequired', message);
  }
  const service = server.replicated ? `${name}-primary` : name;
  return {
    host: server.host ?? serviceHost(service, props.namespace, props.clusterDomain),
    port: server.port,
    notReady: server.notReady,
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
    tlsRequired: tls?.enabled === true && tls.required === true,
  };
}
