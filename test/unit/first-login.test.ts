/** The setup wizard and the identity providers of a site: what is refused, requested and said. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { evaluateConfiguration } from '../../constructs/configuration/evaluate.js';
import type { JobRun } from '../../constructs/kit/kind.js';
import {
  firstLoginOf,
  ignoredLogins,
  loginContent,
  loginFiles,
  setupProblems,
} from '../../constructs/configuration/first-login.js';
import { missingText } from '../../constructs/configuration/sources.js';
import { syncConfiguration } from '../../constructs/configuration/sync.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import type { AppSite, SiteSetup, SiteSocialLogin } from '../../constructs/api/site.js';

const SETUP: SiteSetup = {
  language: 'en',
  country: 'Germany',
  timeZone: 'Europe/Berlin',
  currency: 'EUR',
};
const login = (provider: string, secret = 'idp'): SiteSocialLogin => ({
  provider,
  enabled: true,
  clientID: { value: 'desk' },
  clientSecret: { secretKeyRef: { name: secret, key: 'k' } },
});
const SECRET: KubeObject = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'idp', namespace: 'default', uid: 's', resourceVersion: '1' },
};

function aSite(spec: Partial<AppSite['spec']>, status: AppSite['status'] = {}): AppSite {
  return {
    apiVersion: 'app-operator.io/v1alpha1',
    kind: 'AppSite',
    metadata: { name: 'shop', namespace: 'default', uid: 'u' },
    spec: spec as AppSite['spec'],
    status,
  };
}

/** What becomes of a site in one reconcile. */
function reconciled(
  site: AppSite,
  objects: readonly KubeObject[] = [SECRET],
  runs: readonly JobRun[] = [],
) {
  const sync = syncConfiguration(
    site,
    {
      file: 'site_config.json',
      job: 'shop-configuration',
      initJob: 'shop-init',
      init: 'i',
      login: firstLoginOf(site),
    },
    new StaticReader({ objects }),
  );
  const evaluated = evaluateConfiguration(
    {
      ...{ resource: site, inputs: undefined, child: () => undefined, pending: [] },
      ...{ runs, probes: [], complete: true, ready: true },
    },
    sync,
  );
  const [condition] = evaluated.conditions;
  return { sync, ...evaluated, said: condition && `${condition.reason}: ${condition.message}` };
}

function answered(
  site: AppSite,
  [outcome, reason, message]: readonly string[] = ['Changed', '', ''],
) {
  const run = reconciled(site).sync?.taskHash ?? '';
  const time = '2026-01-01T00:00:00Z';
  const job: JobRun = {
    ...{ name: 'shop-configuration', uid: 'j', state: 'Succeeded', taskHash: run, exitCode: 0 },
    ...{ startTime: time, completionTime: time },
    message: JSON.stringify({ results: { [run]: [outcome, reason, message, []] } }),
  };
  return reconciled(site, [SECRET], [job]);
}

suite('the first login', () => {
  test('is requested before a site is ready, without the value of a Secret', () => {
    const { sync, notReady, said } = reconciled(aSite({ setup: SETUP, sso: [login('Google')] }));
    assert.equal(sync?.first, true);
    assert.deepEqual(sync.login, { setup: SETUP, sso: [login('Google')] });
    const waiting = 'waiting for Job shop-configuration to configure the site';
    assert.deepEqual([notReady, said], [waiting, `Applying: ${waiting}`]);
  });
  test('is named by the condition after the Job', () => {
    const { said, fields } = answered(aSite({ setup: SETUP, sso: [login('Google')] }));
    assert.equal(said, 'Applied: the setup wizard is done; users log in with Google');
    assert.ok(fields['siteConfig']);
  });
  test('has a reason where the wizard fails', () => {
    const failed = ['Failed', 'SetupFailed', 'setup: x'];
    const { said } = answered(aSite({ setup: SETUP }), failed);
    assert.equal(said, 'SetupFailed: setup: x; no key was changed');
  });
  test('does not wait for a Secret that does not exist, and names it to the Job', () => {
    const { sync } = reconciled(aSite({ sso: [login('Google')] }), []);
    assert.ok(sync?.taskHash);
    const [source] = sync.missing;
    assert.ok(source);
    assert.equal(source.value, loginFiles(sync.login?.sso)[0]?.value);
    assert.equal(
      missingText(source),
      'spec.sso[0].clientSecret.secretKeyRef.name: there is no Secret "idp" in namespace default; create it',
    );
    assert.match(JSON.stringify(loginContent(login('Google'), 0, () => ({ missing: 'm' }))), /"clientSecret":{"missing":"m"}/); // prettier-ignore
  });
  test('is requested again when the Secret or the spec changes', () => {
    const site = aSite({ sso: [login('Google')] });
    const hashes = [
      reconciled(site),
      reconciled(site, [{ ...SECRET, metadata: { ...SECRET.metadata, resourceVersion: '2' } }]),
      reconciled(aSite({ sso: [{ ...login('Google'), enabled: false }] })),
    ].map(({ sync }) => sync?.hash);
    assert.equal(new Set(hashes).size, 3);
  });
  test('is requested without providers until the last one is deleted in the site', () => {
    const before = { hash: 'x', outcome: 'Applied', keys: [], init: 'i', lastSyncTime: '2026-01-01T00:00:00Z' } as const; // prettier-ignore
    const site = aSite({}, { siteConfig: before, socialLogins: ['Google'] });
    assert.deepEqual(reconciled(site).sync?.login, { sso: [] });
    assert.deepEqual(answered(site).fields, { siteConfig: undefined });
    assert.equal(reconciled(aSite({})).sync, undefined);
  });
});

suite('a first login is refused, and a provider left out', () => {
  const problems = (
    declared: { readonly setup?: SiteSetup; readonly sso?: readonly SiteSocialLogin[] },
    apps: readonly string[] = ['frappe'],
  ) =>
    [...setupProblems(declared, apps), ...ignoredLogins(declared.sso)].map(
      ({ path, message }) => `${path}: ${message}`,
    );
  test('without a company, with ERPNext only', () => {
    assert.deepEqual(problems({ setup: SETUP }, ['frappe', 'erpnext']), [
      'spec.setup.company: Required value: ERPNext is one of the apps of the site, and needs a company',
    ]);
    assert.deepEqual(problems({ setup: SETUP }, ['frappe', 'hrms']), []);
    const company = { name: 'ACME', fiscalYearStart: '01-01' };
    assert.deepEqual(problems({ setup: { ...SETUP, company } }, ['erpnext']), []);
  });
  test('with two providers of one name in the site', () => {
    assert.deepEqual(problems({ sso: [login('My ID'), login('Google'), login('my-id')] }), [
      'spec.sso[2].provider: has no effect: the site names the Social Login Key of "my-id" as that of "My ID": my_id',
    ]);
  });
  test('with a Secret that the operator has generated', () => {
    const [problem = ''] = problems({ sso: [login('Google', 'b-db-root')] });
    assert.match(
      problem,
      /^spec\.sso\[0\]\.clientSecret\.secretKeyRef\.name: has no effect: Invalid value: "b-db-root"/,
    );
    const site = aSite({ sso: [login('Google', 'b-db-root'), login('GitHub')] });
    assert.deepEqual(firstLoginOf(site)?.sso, [login('GitHub')]);
    const { sync } = reconciled(site, []);
    assert.equal(sync?.missing[0]?.path, 'spec.sso[1].clientSecret.secretKeyRef.name');
  });
});
