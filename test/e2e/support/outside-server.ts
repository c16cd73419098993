import { DEFAULT_PORTS } from '../../../constructs/frappe/bench-model.js';
import type { Credential } from '../../../testbed/controlplane/certificate.js';
import type { Manifest } from '../../cluster/support/objects.js';
import { aSecret } from '../../cluster/support/builders.js';

/** What makes a server take nothing but encrypted connections, and log every login. */
interface TlsOnly {
  readonly args: readonly string[];
  /** What makes it verify client certificates. */
  readonly clientCa: { readonly args: readonly string[]; readonly files: TlsOnly['files'] };
  /** Files of a ConfigMap beside the certificate. */
  readonly files: Readonly<Record<string, string>>;
}

interface Flavour {
  readonly image: string;
  readonly user: string;
  readonly passwordEnv: string;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly dataDir: string;
  /** Folders below which it writes sockets and temporary files. */
  readonly scratch: readonly string[];
  readonly check: readonly string[];
  readonly tlsOnly: TlsOnly;
}

const [CERTIFICATE_DIR, FILES_DIR] = ['/tls', '/files'];
/** Where a MariaDB that takes nothing but encrypted connections logs every login. */
export const LOGINS = '/tmp/logins.log';

const FLAVOURS: Readonly<Record<'mariadb' | 'postgres', Flavour>> = {
  mariadb: {
    image: 'mariadb:10.11',
    user: 'root',
    passwordEnv: 'MARIADB_ROOT_PASSWORD',
    env: [{ name: 'MARIADB_ROOT_HOST', value: '%' }],
    dataDir: '/var/lib/mysql',
    scratch: ['/run/mysqld', '/tmp'],
    check: ['healthcheck.sh', '--connect', '--innodb_initialized'],
    tlsOnly: {
      args: [
        `--ssl-cert=${CERTIFICATE_DIR}/tls.crt`,
        `--ssl-key=${CERTIFICATE_DIR}/tls.key`,
        '--require-secure-transport=ON',
        '--general-log=ON',
        `--general-log-file=${LOGINS}`,
      ],
      files: {},
      clientCa: { args: [`--ssl-ca=${CERTIFICATE_DIR}/ca.crt`], files: {} },
    },
  },
  postgres: {
    image: 'postgres:15',
    user: 'postgres',
    passwordEnv: 'POSTGRES_PASSWORD',
    env: [{ name: 'PGDATA', value: '/var/lib/postgresql/data/pgdata' }],
    dataDir: '/var/lib/postgresql/data',
    scratch: ['/var/run/postgresql', '/tmp'],
    check: ['pg_isready', '--host=127.0.0.1', '--username=postgres', '--quiet'],
    tlsOnly: {
      args: [
        'ssl=on',
        `ssl_cert_file=${CERTIFICATE_DIR}/tls.crt`,
        `ssl_key_file=${CERTIFICATE_DIR}/tls.key`,
        `hba_file=${FILES_DIR}/pg_hba.conf`,
        'log_connections=on',
      ].flatMap((setting) => ['-c', setting]),
      files: { 'pg_hba.conf': 'local all all trust\nhostssl all all all scram-sha-256\n' },
      clientCa: {
        args: ['-c', `ssl_ca_file=${CERTIFICATE_DIR}/ca.crt`],
        files: {
          'pg_hba.conf':
            'local all all trust\nhostssl all all all scram-sha-256 clientcert=verify-ca\n',
        },
      },
    },
  },
};

export interface OutsideServerProps {
  readonly provider?: keyof typeof FLAVOURS;
  /** With it, the server takes encrypted connections only. */
  readonly certificate?: Credential;
  /**
   * The CA of client certificates, in PEM. PostgreSQL then refuses a login without one; MariaDB where
   * the user is made so.
   */
  readonly clientCa?: string;
}

/**
 * A database server that the operator knows nothing of: `name` is its Service, `<name>-root` its
 * login.
 */
export function outsideServer(
  name: string,
  password: string,
  { provider = 'mariadb', certificate, clientCa }: OutsideServerProps = {},
): readonly Manifest[] {
  const flavour = FLAVOURS[provider];
  const labels = { outside: name };
  const scratch = flavour.scratch.map((mountPath) => ({
    name: 'scratch',
    mountPath,
    subPath: mountPath.slice(1).replaceAll('/', '-'),
  }));
  const data = { name: 'data', mountPath: flavour.dataDir };
  const tls = certificate
    ? encryption(name, flavour.tlsOnly, { certificate, clientCa })
    : undefined;
  return [
    aSecret(`${name}-root`, { username: flavour.user, password }),
    ...(tls?.objects ?? []),
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { selector: labels, ports: [{ port: DEFAULT_PORTS[provider] }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name },
      spec: {
        serviceName: name,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            securityContext: {
              runAsNonRoot: true,
              runAsUser: 999,
              fsGroup: 0,
              seccompProfile: { type: 'RuntimeDefault' },
            },
            containers: [
              {
                name: provider,
                image: flavour.image,
                args: tls?.args ?? [],
                env: [
                  ...flavour.env,
                  {
                    name: flavour.passwordEnv,
                    valueFrom: { secretKeyRef: { name: `${name}-root`, key: 'password' } },
                  },
                ],
                securityContext: {
                  allowPrivilegeEscalation: false,
                  capabilities: { drop: ['ALL'] },
                },
                readinessProbe: {
                  exec: { command: flavour.check },
                  periodSeconds: 5,
                  timeoutSeconds: 5,
                },
                volumeMounts: [data, ...scratch, ...(tls?.mounts ?? [])],
              },
            ],
            volumes: [
              { name: 'data', persistentVolumeClaim: { claimName: name } },
              { name: 'scratch', emptyDir: {} },
              ...(tls?.volumes ?? []),
            ],
          },
        },
      },
    },
  ];
}

/** What the pod of a server has for its encryption. */
function encryption(
  name: string,
  tlsOnly: TlsOnly,
  {
    certificate,
    clientCa,
  }: { readonly certificate: Credential; readonly clientCa?: string | undefined },
) {
  const client = clientCa === undefined ? undefined : tlsOnly.clientCa;
  const secret: Manifest = {
    ...aSecret(`${name}-tls`, {
      'tls.crt': certificate.certificatePem,
      'tls.key': certificate.keyPem,
      ...(clientCa === undefined ? {} : { 'ca.crt': clientCa }),
    }),
    type: 'kubernetes.io/tls',
  };
  const map: Manifest = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${name}-files` },
    data: { ...tlsOnly.files, ...client?.files },
  };
  return {
    args: [...tlsOnly.args, ...(client?.args ?? [])],
    objects: [secret, map],
    mounts: [
      { name: 'certificate', mountPath: CERTIFICATE_DIR, readOnly: true },
      { name: 'files', mountPath: FILES_DIR, readOnly: true },
    ],
    volumes: [
      // PostgreSQL takes a key of root's that no more than the group can read.
      { name: 'certificate', secret: { secretName: `${name}-tls`, defaultMode: 0o440 } },
      { name: 'files', configMap: { name: `${name}-files` } },
    ],
  };
}
