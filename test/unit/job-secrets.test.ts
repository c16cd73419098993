/** Which container of a Job has which secret. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { scripts } from '../../constructs/frappe/scripts.generated.js';
import { SITES_DIR } from '../../constructs/frappe/pod.js';
import { outcomesOf } from '../golden/outcome.js';
import { readScenario, scenarioNames } from '../golden/scenario.js';

interface Container {
  readonly name: string;
  readonly command?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly valueFrom?: object }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}
interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
}

/** The containers of every Job of every scenario. */
function jobContainers(): readonly { readonly where: string; readonly container: Container }[] {
  return scenarioNames().flatMap((scenario) =>
    outcomesOf(readScenario(scenario)).flatMap(({ stages }) =>
      stages.flatMap(({ objects }) =>
        objects.flatMap((object) => {
          const pod = podOf(object);
          return [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])].map((container) => ({
            where: `${scenario}: ${container.name}`,
            container,
          }));
        }),
      ),
    ),
  );
}

function podOf(object: object): PodSpec | undefined {
  const { kind, spec } = object as { readonly kind?: string; readonly spec?: unknown };
  if (kind !== 'Job' && kind !== 'CronJob') return undefined;
  const job = kind === 'Job' ? spec : (spec as { jobTemplate: { spec: unknown } }).jobTemplate.spec;
  return (job as { readonly template: { readonly spec: PodSpec } }).template.spec;
}

suite('Containers of Jobs', () => {
  const all = jobContainers();
  const secretsOf = ({ env = [] }: Container): readonly string[] =>
    env.filter(({ valueFrom }) => 'secretKeyRef' in (valueFrom ?? {})).map(({ name }) => name);
  const mountsSites = ({ volumeMounts = [] }: Container): boolean =>
    volumeMounts.some(({ name, mountPath }) => name === 'sites' || mountPath === SITES_DIR);

  test('that have the administrator’s login mount no site, and run one script', () => {
    const admins = all.filter(({ container }) =>
      container.env?.some(({ name }) => name.startsWith('DB_ROOT')),
    );
    assert.ok(admins.length > 0);
    for (const { where, container } of admins) {
      assert.ok(!mountsSites(container), where);
      assert.equal(container.command?.at(-1), '/app-operator/scripts/database_admin.py', where);
    }
  });

  test('that have the access key of a store mount no site, and run one script', () => {
    const signers = all.filter(({ container }) =>
      secretsOf(container).some((name) => name.startsWith('S3_')),
    );
    assert.ok(signers.length > 0);
    for (const { where, container } of signers) {
      assert.ok(!mountsSites(container), where);
      assert.equal(container.command?.at(-1), '/app-operator/scripts/store_signer.py', where);
    }
  });

  test('run scripts in isolation from the sites volume', () => {
    for (const { where, container } of all) {
      const { command = [] } = container;
      if (!mountsSites(container) || !command.join(' ').includes('.py')) continue;
      assert.deepEqual(
        command.slice(1, 4),
        ['-I', '-u', '/app-operator/scripts/run_isolated.py'],
        where,
      );
    }
  });

  test('pass no secret on to the programs that they start', () => {
    const listed = /^SECRET_VARIABLES = \(([^)]*)\)/m.exec(scripts['job_secrets.py'])?.[1] ?? '';
    const taken = new Set([...listed.matchAll(/"(\w+)"/g)].map(([, name]) => name));
    // Names without a password, which framework_programs.py does not pass on either.
    const names = new Set(['DB_ROOT_USER', 'S3_ACCESS_KEY_ID']);
    for (const { where, container } of all) {
      const passed = secretsOf(container).filter((name) => !taken.has(name) && !names.has(name));
      assert.deepEqual(passed, [], where);
    }
  });

  test('open files on volumes through volume_files.py only', () => {
    /** Scripts that open files of the image, of the kubelet or of their own, or that site code may stop anyway. */
    const others = new Set([
      ...['volume_files.py', 'image_apps.py', 'job_result.py', 'run_isolated.py', 'local_requests.py'],
      ...['framework_steps.py', 'site_backup_step.py', 'site_documents.py', 'bench_init.py'],
      ...['app_operator_wsgi.py', 'bench_metrics.py', 'gunicorn_worker.py', 'rq_worker.py'],
      ...['scheduler.py', 'site_access.py', 'worker_config.py', 'configuration_values.py'],
      ...['database_tls.py', 'print_program.py', 'print_patches.py'],
    ]); // prettier-ignore
    const direct =
      /\.read_(?:text|bytes)\(|\.write_text\(|rmtree|os\.(?:rename|replace|unlink|mkdir|makedirs)\(|\.unlink\(|\.i?glob\(|\.mkdir\(|(?<![.\w]|def )open\((?!os\.memfd)/;
    for (const [name, text] of Object.entries(scripts)) {
      if (name.endsWith('.py') && !others.has(name)) assert.doesNotMatch(text, direct, name);
    }
  });

  test('start programs of the framework through run_isolated.py only', () => {
    for (const [name, text] of Object.entries(scripts)) {
      if (!name.endsWith('.py')) continue;
      assert.doesNotMatch(text, /\[sys\.executable, (?!"-I")/, name);
    }
  });
});
