import type { Chart } from 'cdk8s';
import type * as k8s from '../kit/k8s.js';
import type { BenchModel } from '../frappe/bench-model.js';
import { FrappeJob } from '../frappe/job.js';
import { jobCommand, SCRIPT_RESOURCES } from '../frappe/pod.js';
import type { SiteConfigEntry } from '../kit/api.js';
import { canonicalJson } from '../kit/json/hash.js';
import type { Resource } from '../kit/object.js';
import { Stage } from '../kit/synth.js';
import { loginContent, loginFiles, type FirstLogin, type LoginFile } from './first-login.js';
import { missingText } from './sources.js';
import type { ConfigurationSync } from './sync.js';

/** Where the files of Secrets and ConfigMaps are mounted. */
const VALUES_DIR = '/app-operator/values';

export interface ConfigurationProps {
  readonly bench: BenchModel;
  readonly owner: Resource;
  readonly configuration: ConfigurationSync | undefined;
  /** The variables that name a site. */
  readonly env: readonly k8s.EnvVar[];
  /** Why the Job cannot run yet. @default it can */
  readonly blocked?: string | undefined;
}

/** The Job that sets the declared keys; none where they are known to be as declared. */
export function addConfigurationJob(
  chart: Chart,
  { bench, owner, configuration, env, blocked }: ConfigurationProps,
): void {
  if (configuration?.taskHash === undefined) return;
  const { taskHash, job, entries, login, wasSet } = configuration;
  const contents = entries.map((entry, index) => contentOf(entry, index, configuration));
  const sources = [...entries.flatMap(sourceOf), ...loginFiles(login?.sso).map(sourceOfLogin)];
  // A site keeps its traffic while its keys are compared. An init Job may fail for lack of a key.
  const stage = new Stage(chart, 'configuration', {
    advisory: true,
    afterFailure: wasSet,
    blocked,
  });
  new FrappeJob(stage, 'job', {
    bench,
    owner,
    name: job,
    component: 'configuration',
    taskHash,
    deadlineSeconds: 600,
    container: {
      name: 'configuration',
      command: jobCommand('site_configuration.py'),
      env: [
        ...env,
        { name: 'REQUEST', value: taskHash },
        { name: 'SITE_CONFIG', value: literal(canonicalJson(contents)) },
        { name: 'VALUES', value: VALUES_DIR },
        ...(login ? loginEnv(login, bench, configuration) : []),
      ],
      // The framework's wizard needs what its workers need.
      resources: login ? undefined : (bench.componentResources.jobs ?? SCRIPT_RESOURCES),
      extraMounts:
        sources.length > 0 ? [{ name: 'values', mountPath: VALUES_DIR, readOnly: true }] : [],
    },
    extraVolumes: sources.length > 0 ? [{ name: 'values', projected: { sources } }] : [],
  });
}

/** A value of a variable in which the kubelet expands no `$(NAME)`. */
function literal(text: string): string {
  return text.replaceAll('$', () => '$$');
}

/** What the script reads of an entry: no value of a Secret. */
function contentOf(
  { key, value, valueFrom }: SiteConfigEntry,
  index: number,
  configuration: ConfigurationSync,
): unknown {
  if (!valueFrom) return { key, value };
  const missing = missingContent(key, configuration);
  if (missing) return { key, ...missing };
  const { secretKeyRef: secret, configMapKeyRef: map, format } = valueFrom;
  const kind = secret ? 'Secret' : 'ConfigMap';
  const { name = '', key: source = '' } = secret ?? map ?? {};
  return { key, file: String(index), from: `key "${source}" of ${kind} "${name}"`, format };
}

/** Why the script cannot have a value: its Secret or ConfigMap does not exist. */
function missingContent(value: string, { missing }: ConfigurationSync) {
  const source = missing.find((one) => one.value === value);
  if (!source) return undefined;
  const reason = source.kind === 'Secret' ? 'SecretMissing' : 'ConfigMapMissing';
  return { reason, missing: missingText(source) };
}

/** The value as a file. The script names what is missing; without `optional` the pod would wait. */
function sourceOf({ valueFrom }: SiteConfigEntry, index: number): k8s.VolumeProjection[] {
  const { secretKeyRef: secret, configMapKeyRef: map } = valueFrom ?? {};
  const items = (key: string) => ({ optional: true, items: [{ key, path: String(index) }] });
  if (secret) return [{ secret: { name: secret.name, ...items(secret.key) } }];
  return map ? [{ configMap: { name: map.name, ...items(map.key) } }] : [];
}

/** The script uses the framework where it gets these. */
function loginEnv(
  { setup, sso }: FirstLogin,
  bench: BenchModel,
  configuration: ConfigurationSync,
): readonly k8s.EnvVar[] {
  const missing = (value: string) => missingContent(value, configuration);
  const variable = (name: string, value: unknown) => ({
    name,
    value: literal(canonicalJson(value)),
  });
  return [
    { name: 'IMAGE', value: bench.image.reference },
    ...(setup ? [variable('SITE_SETUP', setup)] : []),
    ...(sso
      ? [
          variable(
            'SITE_SSO',
            sso.map((login, index) => loginContent(login, index, missing)),
          ),
        ]
      : []),
  ];
}

function sourceOfLogin({ file, reference }: LoginFile): k8s.VolumeProjection {
  const items = [{ key: reference.key, path: file }];
  return { secret: { name: reference.name, optional: true, items } };
}
