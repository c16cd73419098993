import { Chart } from 'cdk8s';
import type { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import type { AppBench } from '../api/bench.js';
import { benchModel, type BenchModel } from '../frappe/bench-model.js';
import { FrappeJob } from '../frappe/job.js';
import { jobCommand, SCRIPT_RESOURCES } from '../frappe/pod.js';
import { bareBench, siteEnv, viewSite } from '../frappe/site-model.js';
import type { SiteConfigEntry } from '../kit/api.js';
import type { Batch, BatchProps } from '../kit/batch.js';
import { Waiting } from '../kit/errors.js';
import { canonicalJson } from '../kit/json/hash.js';
import type { ClusterReader } from '../kit/kind.js';
import { isPaused } from '../kit/annotations.js';
import { benchNames, siteNames } from '../kit/names.js';
import type { Resource } from '../kit/object.js';
import { Job } from '../kit/object-kind.js';
import { Stage } from '../kit/synth.js';
import type { AppSite } from '../api/site.js';
import { loginContent, loginFiles, type FirstLogin, type LoginFile } from './first-login.js';
import { requestsOf, resultsOf, type ConfigurationRequest } from './request.js';

/** Where the files of Secrets and ConfigMaps are mounted. */
const VALUES_DIR = '/app-operator/values';

/** What the Job of a bench or a site depends on. */
interface Target {
  readonly bench: BenchModel;
  /** Name of the Job. */
  readonly job: string;
  readonly env: readonly k8s.EnvVar[];
}

type ConfigurationBatch<R extends Resource> = Batch<R, ConfigurationRequest, Target>;

/** The keys of `site_config.json` of each site. */
export const siteConfiguration: ConfigurationBatch<AppSite> = configurationBatch<AppSite>({
  name: 'site-configuration',
  owner: 'AppSite',
  requests: requestsOf('SiteConfigurationRequest'),
  progress: 'SiteConfigurationProgress',
  target({ metadata: { namespace = 'default', name } }, reader) {
    const { site, blocked } = viewSite(
      { metadata: { namespace }, spec: { siteRef: { name } } },
      reader,
    );
    // The script finds out itself whether another Job works on the site.
    if (!site) throw new Waiting(blocked?.reason ?? 'SiteMissing', blocked?.message ?? '');
    return {
      bench: site.bench,
      job: siteNames(name).configuration,
      env: siteEnv(site),
    };
  },
});

/** The keys of `common_site_config.json` of each bench. */
export const benchConfiguration: ConfigurationBatch<AppBench> = configurationBatch<AppBench>({
  name: 'bench-configuration',
  owner: 'AppBench',
  requests: requestsOf('BenchConfigurationRequest'),
  progress: 'BenchConfigurationProgress',
  target: (bench, reader) => ({
    bench: benchModel(bareBench(bench), reader),
    job: benchNames(bench.metadata.name).configuration,
    env: [],
  }),
});

function configurationBatch<R extends Resource>({
  target,
  ...props
}: Pick<ConfigurationBatch<R>, 'name' | 'owner' | 'requests' | 'progress'> & {
  readonly target: (owner: R, reader: ClusterReader) => Target;
}): ConfigurationBatch<R> {
  return {
    ...props,
    owns: [Job],
    size: 1,
    take: (requests) => requests.slice(0, 1),
    subject: ({ owner }) => owner,
    unfit: () => undefined,
    // There is one request of each owner, so nothing shows whether it is to blame: it is retried.
    failed: () => undefined,
    closed: (why) => why.startsWith('SiteClosed: '),
    resolve(owner, reader) {
      if (isPaused(owner)) throw new Waiting('Paused', `${owner.metadata.name} is paused`);
      return target(owner, reader);
    },
    chart: (scope, id, batch) => new ConfigurationChart(scope, id, { ...batch, name: props.name }),
    results: resultsOf,
  };
}

class ConfigurationChart extends Chart {
  constructor(
    scope: Construct,
    id: string,
    {
      resource,
      inputs: { bench, job, env },
      requests,
      name,
    }: BatchProps<Resource, ConfigurationRequest, Target> & { readonly name: string },
  ) {
    super(scope, id, { disableResourceNameHashes: true });
    const [request] = requests;
    if (!request) return;
    const { entries, login } = request;
    const sources = [...entries.flatMap(sourceOf), ...loginFiles(login?.sso).map(sourceOfLogin)];
    new FrappeJob(new Stage(this, 'write'), 'job', {
      bench,
      owner: resource,
      name: job,
      component: 'configuration',
      labels: { [bench.metadataKeys.batch]: name },
      run: request.id,
      deadlineSeconds: 600,
      container: {
        name: 'configuration',
        command: jobCommand('site_configuration.py'),
        env: [
          ...env,
          { name: 'REQUEST', value: request.id },
          { name: 'SITE_CONFIG', value: literal(canonicalJson(entries.map(contentOf))) },
          { name: 'VALUES', value: VALUES_DIR },
          ...(login ? loginEnv(login, bench) : []),
        ],
        // The framework's wizard needs what its workers need.
        resources: login ? bench.componentResources.workerDefault : SCRIPT_RESOURCES,
        extraMounts:
          sources.length > 0 ? [{ name: 'values', mountPath: VALUES_DIR, readOnly: true }] : [],
      },
      extraVolumes: sources.length > 0 ? [{ name: 'values', projected: { sources } }] : [],
    });
  }
}

/** A value of a variable in which the kubelet expands no `$(NAME)`. */
function literal(text: string): string {
  return text.replaceAll('$', () => '$$');
}

/** What the script reads of an entry: no value of a Secret. */
function contentOf({ key, value, valueFrom }: SiteConfigEntry, index: number): unknown {
  if (!valueFrom) return { key, value };
  const { secretKeyRef: secret, configMapKeyRef: map, format } = valueFrom;
  const kind = secret ? 'Secret' : 'ConfigMap';
  const { name = '', key: source = '' } = secret ?? map ?? {};
  return { key, file: String(index), from: `key "${source}" of ${kind} "${name}"`, format };
}

/** The value as a file. The script names what is missing; without `optional` the pod would wait. */
function sourceOf({ valueFrom }: SiteConfigEntry, index: number): k8s.VolumeProjection[] {
  const { secretKeyRef: secret, configMapKeyRef: map } = valueFrom ?? {};
  const items = (key: string) => ({ optional: true, items: [{ key, path: String(index) }] });
  if (secret) return [{ secret: { name: secret.name, ...items(secret.key) } }];
  return map ? [{ configMap: { name: map.name, ...items(map.key) } }] : [];
}

/** The script uses the framework where it gets these. */
function loginEnv({ setup, sso }: FirstLogin, bench: BenchModel): readonly k8s.EnvVar[] {
  const variable = (name: string, value: unknown) => ({
    name,
    value: literal(canonicalJson(value)),
  });
  return [
    { name: 'IMAGE', value: bench.image.reference },
    ...(setup ? [variable('SITE_SETUP', setup)] : []),
    ...(sso ? [variable('SITE_SSO', sso.map(loginContent))] : []),
  ];
}

function sourceOfLogin({ file, reference }: LoginFile): k8s.VolumeProjection {
  const items = [{ key: reference.key, path: file }];
  return { secret: { name: reference.name, optional: true, items } };
}
