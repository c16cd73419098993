import type { Construct } from 'constructs';
import { conditionsOf } from './health.js';
import type { ClusterReader } from './kind.js';
import { Waiting } from './errors.js';
import type { KubeObject, Resource } from './object.js';
import type { ObjectKind } from './object-kind.js';

/** A database operator: how its servers are reached, and what a site's database is made of. */
export interface DatabaseOperator {
  readonly provider: 'mariadb' | 'postgres';
  /** What to install where its API is not served. */
  readonly install: string;
  /** The field of a bench's `spec.dbConfig` that names a server. */
  readonly serverField: 'mariadbRef' | 'clusterRef';
  readonly serverKinds: readonly ObjectKind[];
  /** The kinds of objects of a site's database, in the order in which they become ready. */
  readonly databaseKinds: readonly ObjectKind[];
  /** Labels by which the operator watches the Secret of a user's password. */
  readonly passwordLabels: Readonly<Record<string, string>>;
  /** Whether that Secret must name the user. */
  readonly passwordNamesUser: boolean;
  /** Name of the Service of a server, where the server itself has not been read. */
  serviceOf(server: string): string;
  /**
   * Reads a server. Its object is watched.
   * @throws Waiting where it does not exist; Stalled where sites cannot connect to it
   */
  readServer(props: ServerProps, reader: ClusterReader): DatabaseOperatorServer;
  /** Adds a site's database, and the user that owns it. */
  addDatabase(props: OperatorDatabaseProps): void;
}

/** A server that a bench names. */
export interface ServerRef {
  readonly name: string;
  /** By default that of the bench. */
  readonly namespace?: string;
  readonly kind?: string;
}

export interface ServerProps {
  readonly ref: ServerRef;
  readonly namespace: string;
  readonly clusterDomain: string;
  /** Name of the AppBench. */
  readonly bench: string;
  /** Annotation on a server that names the namespaces whose benches may use it. */
  readonly grantKey: string;
  /** Whether the bench names a host, such as a proxy in front of the server. */
  readonly hostGiven: boolean;
}

/** A server of a database operator, as its object reports it. */
export interface DatabaseOperatorServer {
  readonly host: string;
  readonly port: number;
  /**
   * Why it is not ready, in the words of its operator; undefined where it is, or reports nothing.
   */
  readonly notReady: string | undefined;
  /** Secret with the CA of its certificate, where the operator makes one. */
  readonly caSecret: string | undefined;
  /** Whether it refuses connections in clear text. */
  readonly tlsRequired: boolean;
}

export interface OperatorDatabaseProps {
  readonly chart: Construct;
  /** The stage of the site's Secrets. */
  readonly foundation: Construct;
  readonly server: ServerRef;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  /** Name of the database, and of its user. */
  readonly database: string;
  readonly password: { readonly secret: string; readonly key: string };
  /** Whether the operator drops the database together with its object. */
  readonly dropsData: boolean;
}

/**
 * Reads the object of a server.
 * @throws Waiting where its API is not served, it does not exist, or it does not grant its use
 */
export function requireServer<O extends KubeObject, T>(
  reader: ClusterReader,
  kind: ObjectKind,
  { bench, namespace, ref, field, grantKey }: ServerProps & { readonly field: string },
  pick: (object: O) => T,
): T {
  const path = `spec.dbConfig.${field} of AppBench ${bench}`;
  if (!reader.serves(kind)) {
    const message = `${path}: the cluster does not serve ${kind.kind} of ${kind.apiVersion}: install the database operator`;
    throw new Waiting('DatabaseOperatorMissing', message);
  }
  if (ref.namespace !== undefined && ref.namespace !== namespace) {
    const granted = reader.get(kind.kind, ref.namespace, ref.name, (object: O) =>
      grants(object, grantKey, namespace) ? { picked: pick(object) } : undefined,
    );
    if (granted) return granted.picked;
    // In the same words where it does not exist, which is not this namespace's to know.
    const message = `${path}: no ${kind.kind} "${ref.name}" in namespace ${ref.namespace} grants its use to namespace ${namespace}; ask its owner to annotate it with ${grantKey}=${namespace}`;
    throw new Waiting('DatabaseServerNotGranted', message);
  }
  const picked = reader.get(kind.kind, namespace, ref.name, pick);
  if (picked !== undefined) return picked;
  const message = `${path}: there is no ${kind.kind} "${ref.name}" in namespace ${namespace}`;
  throw new Waiting('DatabaseServerMissing', message);
}

function grants({ metadata }: KubeObject, key: string, namespace: string): boolean {
  const value = metadata.annotations?.[key] ?? '';
  return value.split(',').some((name) => name.trim() === namespace);
}

/** The status of a server, as far as it is read. Its operator writes it, so it may be anything. */
export interface ServerStatus {
  readonly conditions?: unknown;
}

/** Why a server is not ready, by its `Ready` condition. */
export function whyServerNotReady({
  kind,
  metadata,
  status,
}: Resource<unknown, ServerStatus | null>): string | undefined {
  const ready = conditionsOf(status?.conditions).find(({ type }) => type === 'Ready');
  if (!ready || ready.status === 'True') return undefined;
  return `${kind} ${metadata.name}: ${ready.message ?? 'not ready'}`;
}
