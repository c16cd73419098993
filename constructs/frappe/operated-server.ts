import type { AppBench } from '../bench/api.js';
import { Stalled, Waiting } from '../kit/errors.js';
import type { ClusterReader } from '../kit/kind.js';
import { serviceHost } from '../kit/names.js';
import type { KubeObject, Resource } from '../kit/object.js';
import { ExternalMariaDb, MariaDb, PostgresCluster, type ObjectKind } from '../kit/object-kind.js';
import type { BenchModel, DatabaseServer } from './bench-model.js';
import { MARIADB_PORT, POSTGRES_PORT } from './constants.generated.js';

/** A server of a database operator, as its object tells of it. */
export interface OperatedServer {
  readonly server: DatabaseServer;
  /** Why it is not ready, in its operator's words; undefined where it is, or says nothing. */
  readonly trouble: string | undefined;
}

/**
 * The server of a bench in mode `operator`, with the address that its operator gives it. Its object is watched.
 * @throws Waiting where it is not there: a guess could send what runs elsewhere; Stalled where it wants TLS
 */
export function operatedServer(
  bench: AppBench,
  model: BenchModel,
  reader: ClusterReader,
): OperatedServer {
  const { dbConfig } = bench.spec;
  const { namespace, clusterDomain, clusterRef, mariadbRef } = model;
  const { provider } = model.database;
  const given = {
    ...(dbConfig.host === undefined ? {} : { host: dbConfig.host }),
    ...(dbConfig.port === undefined ? {} : { port: dbConfig.port }),
  };
  const found = (host: string, port: number, said: Said): OperatedServer => ({
    server: { provider, host, port, ...given },
    trouble: said.trouble,
  });
  if (clusterRef) {
    const said = read(PostgresCluster, clusterRef.name, 'clusterRef', model, reader, saidOf);
    const service = serviceHost(`${clusterRef.name}-rw`, namespace, clusterDomain);
    return found(service, POSTGRES_PORT, said);
  }
  const { name, kind } = mariadbRef ?? { name: '', kind: 'MariaDB' };
  const api = kind === 'MariaDB' ? MariaDb : ExternalMariaDb;
  const said = read(api, name, 'mariadbRef', model, reader, mariaDbOf);
  // At a host of its own something in between, such as a MaxScale, makes the connection to the server.
  if (said.tlsRequired && dbConfig.host === undefined) {
    const message = `spec.dbConfig of AppBench ${model.name}: ${kind} ${name} takes encrypted connections only (tls.required), which the framework's sites do not make; set tls.required to false`;
    throw new Stalled('DatabaseTlsRequired', message);
  }
  const service = said.primary ? `${name}-primary` : name;
  const host = said.host ?? serviceHost(service, namespace, clusterDomain);
  return found(host, said.port, said);
}

function read<O extends KubeObject, T>(
  kind: ObjectKind,
  name: string,
  field: string,
  { name: bench, namespace }: BenchModel,
  reader: ClusterReader,
  pick: (object: O) => T,
): T {
  const path = `spec.dbConfig.${field} of AppBench ${bench}`;
  if (!reader.serves(kind)) {
    const message = `${path}: the cluster does not serve ${kind.kind} of ${kind.apiVersion}: install the database operator`;
    throw new Waiting('DatabaseOperatorMissing', message);
  }
  const picked = reader.get(kind.kind, namespace, name, pick);
  if (picked !== undefined) return picked;
  const message = `${path}: there is no ${kind.kind} "${name}" in namespace ${namespace}`;
  throw new Waiting('DatabaseServerMissing', message);
}

/** What is read of any server. */
interface Said {
  readonly trouble: string | undefined;
}

interface Conditions {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly message?: string;
  }[];
}

function saidOf({ kind, metadata, status }: Resource<unknown, Conditions>): Said {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (!ready || ready.status === 'True') return { trouble: undefined };
  return { trouble: `${kind} ${metadata.name}: ${ready.message ?? 'not ready'}` };
}

/** What is read of a MariaDB or of an ExternalMariaDB. */
interface MariaDbSpec {
  readonly host?: string;
  readonly port?: number;
  readonly replication?: { readonly enabled?: boolean };
  readonly galera?: { readonly enabled?: boolean };
  readonly tls?: { readonly enabled?: boolean; readonly required?: boolean };
}

function mariaDbOf(object: Resource<MariaDbSpec | undefined, Conditions>) {
  const { host, port = MARIADB_PORT, replication, galera, tls } = object.spec ?? {};
  return {
    ...saidOf(object),
    host,
    port,
    // With several replicas only one takes writes: its Service has a name of its own.
    primary: replication?.enabled === true || galera?.enabled === true,
    tlsRequired: tls?.enabled === true && tls.required === true,
  };
}
