import { Construct } from 'constructs';
import type { DatabaseSettings, Resources, Storage } from '../kit/api.js';
import * as k8s from '../kit/k8s.js';
import { hashOf } from '../kit/json/hash.js';
import { dataLabels } from '../kit/deletion-policy.js';
import type { Resource } from '../kit/object.js';
import { DATABASE_REQUESTS } from './default-resources.js';
import { DEFAULT_PORTS, type BenchModel } from './bench-model.js';
import type { SecretKey } from './database.js';
import { databaseSettings, settingArguments } from './database-settings.js';
import type { ServerCertificate } from './database-tls.js';
import { GeneratedSecret } from './generated-secret.js';
import { placement, podMetadata, secretEnv, selectorLabels, withPodTemplates } from './pod.js';
import { PodService } from './service.js';
import { Volume } from './volume.js';

export interface DatabaseServerProps {
  readonly bench: BenchModel;
  /**
   * The bench or the site that the server belongs to; its deletion policy decides about the data.
   */
  readonly owner: Resource<{ readonly deletionPolicy: string }>;
  readonly name: string;
  readonly provider: 'mariadb' | 'postgres';
  /** Name of its volume's claim. */
  readonly volume: string;
  readonly root: SecretKey;
  readonly image: string;
  readonly resources?: Resources | undefined;
  readonly storage?: Storage | undefined;
  readonly settings?: DatabaseSettings | undefined;
  /** Without it, connections are in clear text. */
  readonly certificate?: ServerCertificate | undefined;
}

const COMPONENT = 'database';

interface Flavour {
  readonly args: readonly string[];
  readonly dataDir: string;
  /** Folders below which the server writes sockets and temporary files. */
  readonly scratch: readonly string[];
  readonly env: (root: SecretKey) => k8s.EnvVar[];
  readonly check: readonly string[];
  /** Arguments with which it encrypts connections. */
  readonly tls: readonly string[];
}

const TLS_DIR = '/app-operator/tls';

const FLAVOURS: Readonly<Record<'mariadb' | 'postgres', Flavour>> = {
  mariadb: {
    args: [
      '--character-set-server=utf8mb4',
      '--collation-server=utf8mb4_unicode_ci',
      '--skip-character-set-client-handshake',
    ],
    dataDir: '/var/lib/mysql',
    scratch: ['/run/mysqld', '/tmp'],
    env: (root) => [
      secretEnv('MARIADB_ROOT_PASSWORD', root),
      { name: 'MARIADB_ROOT_HOST', value: '%' },
      { name: 'MARIADB_AUTO_UPGRADE', value: '1' },
    ],
    check: ['healthcheck.sh', '--connect', '--innodb_initialized'],
    tls: [
      `--ssl-cert=${TLS_DIR}/tls.crt`,
      `--ssl-key=${TLS_DIR}/tls.key`,
      '--require-secure-transport=ON',
    ],
  },
  postgres: {
    args: [],
    dataDir: '/var/lib/postgresql/data',
    scratch: ['/var/run/postgresql', '/tmp'],
    env: (root) => [
      secretEnv('POSTGRES_PASSWORD', root),
      { name: 'PGDATA', value: '/var/lib/postgresql/data/pgdata' },
    ],
    // By TCP: the socket is also served while the image prepares a new server.
    check: ['pg_isready', '--host=127.0.0.1', '--username=postgres', '--quiet'],
    // Its rules of access, which could refuse clear text, belong to the image.
    tls: ['ssl=on', `ssl_cert_file=${TLS_DIR}/tls.crt`, `ssl_key_file=${TLS_DIR}/tls.key`].flatMap(
      (setting) => ['-c', setting],
    ),
  },
};

/** A database server of one replica, with its Service, its volume and its root password. */
export class DatabaseServer extends Construct {
  constructor(scope: Construct, id: string, props: DatabaseServerProps) {
    super(scope, id);
    const { bench, owner, name, provider, root, image } = props;
    const { namespace } = bench;
    new GeneratedSecret(this, 'root', {
      owner,
      name: root.secret,
      namespace,
      component: COMPONENT,
      keys: { [root.key]: 'password' },
      annotations: provider === 'postgres' ? { [bench.metadataKeys.serverImage]: image } : {},
      retained: true,
    });
    new PodService(this, 'service', {
      owner,
      name,
      namespace,
      component: COMPONENT,
      labels: dataLabels(owner, COMPONENT),
      ports: { [provider]: DEFAULT_PORTS[provider] },
      publishNotReadyAddresses: true,
    });
    if (props.storage?.existingClaim === undefined) {
      new Volume(this, 'volume', {
        owner,
        name: props.volume,
        component: COMPONENT,
        accessMode: 'ReadWriteOnce',
        storage: { size: '10Gi', ...props.storage },
      });
    }
    const server = new k8s.KubeStatefulSet(this, 'server', {
      metadata: {
        name,
        namespace,
        labels: dataLabels(owner, COMPONENT),
      },
      spec: {
        serviceName: name,
        replicas: 1,
        selector: { matchLabels: selectorLabels(props) },
        template: podTemplate(props),
      },
    });
    withPodTemplates(server, { bench, owner, name, component: COMPONENT });
  }
}

function podTemplate(props: DatabaseServerProps): k8s.PodTemplateSpec {
  const { bench, owner, name, certificate } = props;
  const hash = certificate ? { [bench.metadataKeys.configHash]: hashOf([certificate]) } : {};
  return {
    metadata: podMetadata({ bench, owner, name, component: COMPONENT }, hash),
    spec: {
      ...placement(bench),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: bench.security.pod,
      // InnoDB writes its buffer pool back when it stops.
      terminationGracePeriodSeconds: 120,
      containers: [container(props)],
      volumes: [
        {
          name: 'data',
          persistentVolumeClaim: { claimName: props.storage?.existingClaim ?? props.volume },
        },
        { name: 'scratch', emptyDir: {} },
        ...(certificate
          ? // PostgreSQL takes a key of root's that no more than the group can read.
            [
              {
                name: 'database-tls',
                secret: { secretName: certificate.secret, defaultMode: 0o440 },
              },
            ]
          : []),
      ],
    },
  };
}

function container({
  bench,
  provider,
  root,
  image,
  resources,
  settings,
  certificate,
}: DatabaseServerProps): k8s.Container {
  const flavour = FLAVOURS[provider];
  const args = [
    ...flavour.args,
    ...(certificate ? flavour.tls : []),
    ...settingArguments(provider, databaseSettings(provider, settings, resources)),
  ];
  const check = { exec: { command: [...flavour.check] }, timeoutSeconds: 10 };
  return {
    name: provider,
    image,
    ...(args.length > 0 ? { args } : {}),
    env: flavour.env(root),
    ports: [{ name: provider, containerPort: DEFAULT_PORTS[provider], protocol: 'TCP' }],
    resources: resources ?? DATABASE_REQUESTS,
    securityContext: bench.security.container,
    // A crash recovery may take long, and must not be mistaken for a hang.
    startupProbe: { ...check, periodSeconds: 5, failureThreshold: 120 },
    readinessProbe: { ...check, periodSeconds: 5 },
    // Each check is a process in the container, so checks are rare.
    livenessProbe: { ...check, periodSeconds: 30, failureThreshold: 3 },
    volumeMounts: [
      { name: 'data', mountPath: flavour.dataDir },
      ...flavour.scratch.map((mountPath) => ({
        name: 'scratch',
        mountPath,
        subPath: mountPath.slice(1).replaceAll('/', '-'),
      })),
      ...(certificate ? [{ name: 'database-tls', mountPath: TLS_DIR, readOnly: true }] : []),
    ],
  };
}
