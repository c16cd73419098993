import { ignoredLogins } from '../../configuration/first-login.js';
import { ignoredEntries } from '../../configuration/problems.js';
import type { Problem } from '../../kit/errors.js';
import type { AccessGateway } from '../../kit/integration.js';
import type { AppSite } from '../../api/site.js';

const SERVERS = {
  shared: 'the database is on the server of the bench; set spec.dbConfig.resources of the AppBench',
  external: 'you run the server; set its resources there',
  operator: 'the database operator runs the server; set its resources there',
} as const;

/** Fields of a site that are accepted and have no effect. */
export function fieldsWithoutEffect({ spec }: AppSite): readonly Problem[] {
  return [
    ...resourcesWithoutEffect(spec),
    ...gatewayWithoutEffect(spec),
    ...templatesWithoutEffect(spec),
    ...scalingWithoutEffect(spec),
    ...ignoredEntries(spec.siteConfig),
    ...ignoredLogins(spec.sso),
  ];
}

function gatewayWithoutEffect({ ingress }: AppSite['spec']): readonly Problem[] {
  if (!ingress?.gatewayRef || ingress.enabled) return [];
  const message = 'has no effect: set spec.ingress.enabled to true';
  return [{ path: 'spec.ingress.gatewayRef', message }];
}

/** Fields of an Ingress that are without effect where the site has the Gateway of its bench. */
export function tlsWithoutEffect(
  { spec }: AppSite,
  gateway: AccessGateway | undefined,
): readonly Problem[] {
  if (!gateway) return [];
  const { certManagerIssuer, issuerKind, secretName } = spec.ingress?.tls ?? {};
  const given = Object.entries({ certManagerIssuer, issuerKind, secretName });
  const message = `has no effect: TLS ends at Gateway ${gateway.namespace}/${gateway.name}, which the bench names`;
  return given.flatMap(([field, value]) =>
    value === undefined ? [] : [{ path: `spec.ingress.tls.${field}`, message }],
  );
}

function resourcesWithoutEffect({ dbConfig }: AppSite['spec']): readonly Problem[] {
  const { mode, resources } = dbConfig;
  if (!resources || mode === 'dedicated') return [];
  const message = `has no effect in mode ${mode}: ${SERVERS[mode]}`;
  return [{ path: 'spec.dbConfig.resources', message }];
}

function scalingWithoutEffect({ webAutoscaling, workloads }: AppSite['spec']): readonly Problem[] {
  if (!webAutoscaling || workloads === 'Dedicated') return [];
  const message = 'has no effect with workloads Shared: set it on the AppBench';
  return [{ path: 'spec.webAutoscaling', message }];
}

function templatesWithoutEffect({
  componentPodTemplates = {},
  dbConfig,
  workloads,
}: AppSite['spec']): readonly Problem[] {
  return Object.keys(componentPodTemplates).flatMap((component) => {
    const path = `spec.componentPodTemplates.${component}`;
    if (component === 'jobs') return [];
    if (component === 'database') {
      const message = `has no effect in mode ${dbConfig.mode}: only mode dedicated has a server for the site`;
      return dbConfig.mode === 'dedicated' ? [] : [{ path, message }];
    }
    const message = `has no effect with workloads Shared: set it on the AppBench`;
    return workloads === 'Shared' ? [{ path, message }] : [];
  });
}
