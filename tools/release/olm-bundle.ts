import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installObjects } from '../../cli/commands/install/manifest.js';
import { toYaml } from '../../cli/io/yaml.js';
import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { IMAGE_REPOSITORY, PROJECT, SOURCE_URL } from '../../constructs/project.js';
import { API_VERSION, DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { examplesOf } from '../generate/packages/examples.js';
import type { Files } from '../generate/output.js';

export interface BundleProps {
  /** The project's folder. */
  readonly root: string;
  readonly version: string;
  /** Of the release: `YYYY-MM-DD`. */
  readonly date: string;
  /** @default the tag of the version */
  readonly image?: string;
}

const PACKAGE = PROJECT.name;
const CHANNEL = 'alpha';
const MINIMUM_KUBERNETES = '1.29.0';

/** Parts of an installation that the ClusterServiceVersion states: OLM creates them. */
const OF_THE_CSV = new Set([
  'ClusterRoleBinding',
  'Deployment',
  'Namespace',
  'RoleBinding',
  'ServiceAccount',
]);

type Rules = readonly object[];
type Installed = KubeObject & { readonly rules?: Rules; readonly spec?: object };

/**
 * The bundle of the Operator Lifecycle Manager, from the objects of an installation: paths from the bundle's
 * folder. It has no webhooks: OLM would give them its own certificates. The operator validates again whatever
 * it reconciles.
 */
export function bundleFiles(props: BundleProps): Files {
  const image = props.image ?? `${IMAGE_REPOSITORY}:${props.version}`;
  const objects = installObjects({ image, webhooks: false }) as readonly Installed[];
  const own = (kind: string, name: string): Installed => {
    const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
    if (!found) throw new Error(`installation: ${kind} ${name} not found`);
    return found;
  };
  const deployment = own('Deployment', OPERATOR.deployment);
  const csv = clusterServiceVersion(
    { ...props, image },
    {
      deployment,
      clusterRules: own('ClusterRole', OPERATOR.managerRole).rules ?? [],
      rules: own('Role', OPERATOR.ownRole).rules ?? [],
    },
  );
  const inCsv = ({ kind, metadata }: Installed): boolean =>
    OF_THE_CSV.has(kind) ||
    metadata.name === OPERATOR.managerRole ||
    metadata.name === OPERATOR.ownRole;
  const manifests = objects
    .filter((object) => !inCsv(object))
    .map(
      (object) => [`manifests/${fileName(object)}`, toYaml([withoutNamespace(object)])] as const,
    );
  return new Map([
    [`manifests/${PACKAGE}.clusterserviceversion.yaml`, toYaml([csv])],
    ...manifests,
    ['metadata/annotations.yaml', toYaml([{ annotations: ANNOTATIONS }])],
    ['Dockerfile', DOCKERFILE],
  ]);
}

function fileName({ kind, metadata }: KubeObject): string {
  if (kind === 'CustomResourceDefinition') return `${metadata.name}.yaml`;
  return `${metadata.name}.${kind.toLowerCase()}.yaml`;
}

/** OLM creates the objects in the namespace of the subscription. */
function withoutNamespace(object: KubeObject): KubeObject {
  const { namespace: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

const ANNOTATIONS = {
  'operators.operatorframework.io.bundle.mediatype.v1': 'registry+v1',
  'operators.operatorframework.io.bundle.manifests.v1': 'manifests/',
  'operators.operatorframework.io.bundle.metadata.v1': 'metadata/',
  'operators.operatorframework.io.bundle.package.v1': PACKAGE,
  'operators.operatorframework.io.bundle.channels.v1': CHANNEL,
  'operators.operatorframework.io.bundle.channel.default.v1': CHANNEL,
};

const DOCKERFILE = [
  'FROM scratch',
  ...Object.entries(ANNOTATIONS).map(([name, value]) => `LABEL ${name}=${value}`),
  'COPY manifests /manifests/',
  'COPY metadata /metadata/',
  '',
].join('\n');

interface Parts {
  readonly deployment: Installed;
  readonly clusterRules: Rules;
  readonly rules: Rules;
}

function clusterServiceVersion(
  { root, version, date, image }: BundleProps & { readonly image: string },
  parts: Parts,
): object {
  return {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'ClusterServiceVersion',
    metadata: {
      name: `${PACKAGE}.v${version}`,
      annotations: {
        'alm-examples': JSON.stringify(examplesOf(root, DEFINITIONS), undefined, 2),
        capabilities: 'Full Lifecycle',
        categories: 'Application Runtime',
        containerImage: image,
        createdAt: `${date}T00:00:00Z`,
        description: PROJECT.description,
        repository: SOURCE_URL,
        support: SOURCE_URL,
        'olm.skipRange': `<${version}`,
        'operatorframework.io/suggested-namespace': OPERATOR.namespace,
      },
      labels: Object.fromEntries(
        ['amd64', 'arm64'].map((name) => [`operatorframework.io/arch.${name}`, 'supported']),
      ),
    },
    spec: { ...presentation(root, version), ...installation(parts) },
  };
}

/** What a catalog shows. */
function presentation(root: string, version: string): object {
  const icon = readFileSync(join(root, 'docs', 'pictures', 'icon.svg'));
  return {
    displayName: 'App Operator',
    version,
    maturity: CHANNEL,
    minKubeVersion: MINIMUM_KUBERNETES,
    description: DESCRIPTION,
    keywords: ['frappe', 'erpnext', 'bench', 'site'],
    links: [{ name: 'Documentation', url: `${SOURCE_URL}/blob/main/docs/README.md` }],
    maintainers: [{ name: `${PROJECT.name} maintainers`, email: PROJECT.email }],
    provider: { name: PROJECT.name, url: SOURCE_URL },
    icon: [{ base64data: icon.toString('base64'), mediatype: 'image/svg+xml' }],
  };
}

const DESCRIPTION = `Runs benches and sites of the Frappe Framework, such as ERPNext.

An **AppBench** is the infrastructure that sites share: Redis, a database server, nginx and workers.
An **AppSite** is one site on a bench, with its database, its ingress and its upgrades. Backups, jobs,
users and parts of the desk are resources too.
`;

function installation({ deployment, clusterRules, rules }: Parts): object {
  const serviceAccountName = OPERATOR.serviceAccount;
  const { metadata, spec } = deployment;
  const owned = DEFINITIONS.map(({ kind, plural, description }) => ({
    name: `${plural}.${DEFAULT_API_GROUP}`,
    version: API_VERSION,
    kind,
    displayName: kind,
    description,
  }));
  const modes = ['OwnNamespace', 'SingleNamespace', 'MultiNamespace', 'AllNamespaces'];
  return {
    customresourcedefinitions: { owned },
    installModes: modes.map((type) => ({ type, supported: type === 'AllNamespaces' })),
    install: {
      strategy: 'deployment',
      spec: {
        clusterPermissions: [{ serviceAccountName, rules: clusterRules }],
        permissions: [{ serviceAccountName, rules }],
        deployments: [{ name: metadata.name, label: metadata.labels, spec }],
      },
    },
  };
}
