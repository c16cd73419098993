import type { AppBench } from '../api/bench.js';
import { databaseOperator } from '../integrations/index.js';
import type { DatabaseTls } from '../kit/api.js';
import type { DatabaseOperatorServer } from '../kit/database-operator.js';
import type { ClusterReader } from '../kit/kind.js';
import { Stalled } from '../kit/errors.js';
import { bareHost } from '../kit/names.js';
import type { BenchModel } from './bench-model.js';
import type { DatabaseServer } from './database.js';
import { caOf, tlsPlan } from './database-tls.js';

/**
 * The server of a bench in mode `operator`, at the address that its operator reports. Its object is
 * watched.
 * @throws Waiting where it does not exist: a guessed address could be another server's; Stalled
 * where sites cannot connect to it
 */
export function databaseOperatorServer(
  { spec }: AppBench,
  model: BenchModel,
  reader: ClusterReader,
): { readonly server: DatabaseServer } & Pick<DatabaseOperatorServer, 'notReady'> {
  const { provider } = model.database;
  const { host, port } = spec.dbConfig;
  const read = databaseOperator(provider).readServer(
    {
      ref: model.operatorServer ?? { name: '' },
      namespace: model.namespace,
      clusterDomain: model.clusterDomain,
      bench: model.name,
      grantKey: model.metadataKeys.allowDatabasesFrom,
      hostGiven: host !== undefined,
    },
    reader,
  );
  return {
    server: {
      provider,
      host: host === undefined ? read.host : bareHost(host),
      port: port ?? read.port,
      ...serverTls(model.name, spec.dbConfig.tls, read),
    },
    notReady: read.notReady,
  };
}

/**
 * What the bench says; by default a server that requires it is connected to in mode VerifyFull.
 * @throws Stalled where a certificate cannot be checked, because no CA is known
 */
function serverTls(
  bench: string,
  wanted: DatabaseTls | undefined,
  { caSecret, tlsRequired }: DatabaseOperatorServer,
): Pick<DatabaseServer, 'tls'> {
  const given = wanted ?? (tlsRequired ? ({ mode: 'VerifyFull' } as const) : undefined);
  const tls = tlsPlan(given, caSecret === undefined ? undefined : caOf(caSecret));
  if (!tls) return {};
  if (tls.mode !== 'Require' && !tls.ca) {
    const message = `spec.dbConfig.tls of AppBench ${bench}: the CA of the server's certificate is not known; set caSecretRef to a Secret with the key ca.crt`;
    throw new Stalled('DatabaseTlsRequired', message);
  }
  return { tls };
}
