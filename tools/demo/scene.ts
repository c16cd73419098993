import type { ControlPlane } from '../../testbed/controlplane/controlplane.js';
import { writePodLogs } from '../../testbed/controlplane/pod-logs.js';
import { failPods } from '../../testbed/controlplane/pods.js';

const SITE = 'second-site';
const JOB = `${SITE}-init`;
const LOG = `Verifying the database server
Traceback (most recent call last):
  File "/app-operator/scripts/site_init.py", line 88, in main
pymysql.err.OperationalError: (2003, "Can't connect to MySQL server on 'demo-bench-db'")
app-operator: the database server does not answer
`;

/** Lets a second site fail, as one does whose database is down: what a picture has to show. */
export async function letASiteFail(cp: ControlPlane): Promise<void> {
  await failPods(cp, { 'job-name': JOB }, { exitCode: 3, message: LOG });
  const site = {
    apiVersion: 'app-operator.io/v1alpha1',
    kind: 'AppSite',
    metadata: { name: SITE },
    spec: { benchRef: { name: 'demo-bench' }, siteName: 'second.example.com' },
  };
  await cp.kubectl(['apply', '-f', '-'], JSON.stringify(site));
  const has = (args: readonly string[], text: string) => async (): Promise<boolean> => {
    return (await cp.kubectl(['get', '--ignore-not-found', ...args])).includes(text);
  };
  await cp.api.until('the init Job', has(['job', JOB], JOB));
  // Its own patience is a minute and more.
  await cp.kubectl(['patch', 'job', JOB, '--type=merge', '-p', '{"spec":{"backoffLimit":0}}']);
  const phase = [
    'appsite',
    SITE,
    '-o',
    'jsonpath={.status.phase}: {.status.conditions[*].message}',
  ];
  await cp.api.until('the failure to be told', has(phase, 'does not answer'));
  const sites = ['appbench', 'demo-bench', '-o', 'jsonpath={.status.sites}'];
  await cp.api.until('the bench to count it', has(sites, '2'));
  await writePodLogs(cp, { 'job-name': JOB }, LOG);
}
