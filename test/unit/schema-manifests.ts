import { API_VERSION, DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { minimalSpec } from '../golden/scenario.js';

/** A manifest as a user writes it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec?: unknown;
}

export function aManifest(kind: string, spec: unknown, name = 'sample'): Manifest {
  const metadata = { name, namespace: 'default' };
  return { apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`, kind, metadata, spec };
}

type Specs = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The least that each kind of the specification takes. */
const SPECIFIED: Specs = {
  AppBench: { frameworkVersion: 'version-15' },
  AppSite: { benchRef: { name: 'bench' }, siteName: 'shop.example.com' },
  SiteUser: { siteRef: { name: 'shop' }, email: 'ada@example.org', firstName: 'Ada' },
  SiteWorkspace: { siteRef: { name: 'shop' }, title: 'Sales' },
  SiteDashboard: {
    siteRef: { name: 'shop' },
    dashboardName: 'Sales',
    charts: [{ chart: { document: 'Orders' } }],
  },
  SiteDashboardChart: {
    siteRef: { name: 'shop' },
    chartName: 'Orders',
    chartType: 'Count',
    documentType: 'ToDo',
    basedOn: 'creation',
  },
  SiteBackup: { siteRef: { name: 'shop' }, destination: { pvc: { claimName: 'backups' } } },
  SiteJob: { siteRef: { name: 'shop' }, command: ['migrate'] },
};

/** The least that each kind takes; of a further kind, its scenario `<kind>-minimal`. */
export const MINIMAL: Specs = Object.fromEntries(
  DEFINITIONS.map((definition) => [
    definition.kind,
    SPECIFIED[definition.kind] ?? minimalSpec(definition),
  ]),
);

/** The least manifest of a kind, with fields changed; an undefined one is left out. */
export function minimal(kind: string, changes: object = {}, name?: string): Manifest {
  const spec = Object.entries({ ...MINIMAL[kind], ...changes }).filter(([, v]) => v !== undefined);
  return aManifest(kind, Object.fromEntries(spec), name);
}

export const aBench = (changes?: object, name?: string): Manifest =>
  minimal('AppBench', changes, name);
export const aSite = (changes?: object, name?: string): Manifest =>
  minimal('AppSite', changes, name);
