import type { AppBench } from '../bench/api.js';
import { databaseOperator } from '../integrations/database-operator.js';
import type { DatabaseOperatorServer } from '../kit/database-operator.js';
import type { ClusterReader } from '../kit/kind.js';
import type { BenchModel, DatabaseServer } from './bench-model.js';

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
      hostGiven: host !== undefined,
    },
    reader,
  );
  return {
    server: { provider, host: host ?? read.host, port: port ?? read.port },
    notReady: read.notReady,
  };
}
