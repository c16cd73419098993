import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { DocumentOutcome, DocumentRequest } from '../../constructs/kit/document.js';
import { Waiting } from '../../constructs/kit/errors.js';
import type { ClusterReader, Kind } from '../../constructs/kit/kind.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import type { AppSite } from '../../constructs/api/site.js';
import type { DocumentInputs } from '../../constructs/batches/documents/kind.js';
import type { DocumentResource } from '../../constructs/batches/documents/sync.js';
import { user } from '../../constructs/kinds/user/index.js';
import { workspace } from '../../constructs/kinds/workspace/index.js';
import { deleting, paused, reportOf, type Report } from '../../runner/reconcile/report.js';
import type { Status } from '../../runner/plan/resource-status.js';
import { statusOf } from '../../runner/reconcile/status.js';
import { aSite, aReader, stored } from '../golden/builders.js';
import { NOW } from '../golden/scenario.js';

type Fields = Readonly<Record<string, unknown>>;
type Answer = readonly [DocumentOutcome, string?, (readonly string[])?, string?];

interface HistoryOf {
  readonly kind: Kind<DocumentResource, DocumentInputs>;
  readonly name: string;
  readonly spec: Fields;
}

/** A resource over some reconciles, each with the status after the previous one. */
class DocumentHistory {
  status: Status | undefined;
  #request: DocumentRequest | undefined;
  site: AppSite = aSite({}, { uid: 'site-1' });
  secrets: KubeObject[] = [];
  jobs: KubeObject[] = [];

  constructor(
    private readonly of: HistoryOf,
    public spec: Fields,
  ) {}

  /** @param answer the result of its request */
  reconcile(answer?: Answer): this {
    return this.#reconcile(answer, (resource, reader) => {
      const { kind } = this.of;
      const inputs = kind.resolve(resource, reader);
      const nothing = { pending: [], runs: [], probes: [], child: () => undefined };
      const statusResult = kind.evaluate({
        resource,
        inputs,
        ...nothing,
        complete: true,
        ready: true,
      });
      return { statusResult, stalled: false, changes: [] };
    });
  }

  pause(): this {
    return this.#reconcile(undefined, (resource) => paused(resource as Resource<unknown, Status>));
  }

  /** @returns what the deletion waits for; undefined where nothing holds the resource */
  delete(answer?: Answer): string | undefined {
    let reason: string | undefined;
    const pass = (resource: DocumentResource, reader: ClusterReader): Report => {
      try {
        this.of.kind.cleanup.blockers(resource, reader);
      } catch (error) {
        if (error instanceof Waiting) reason = error.reason;
        throw error;
      }
      return deleting('gone');
    };
    this.#reconcile(answer, pass, 'Deleting');
    return reason;
  }

  /** The condition `Ready`, as `<reason>: <message>`. */
  get ready(): string {
    const { reason, message } = this.status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
    return `${reason}: ${message}`;
  }

  /** Its request since the last reconcile. */
  request(): DocumentRequest | undefined {
    return this.#request;
  }

  get conditions(): readonly string[] {
    return (this.status?.conditions ?? []).map(({ type }) => type);
  }

  migrated(image: string): this {
    this.site = { ...this.site, status: { ...this.site.status, image } };
    return this;
  }

  /** Adds a SiteJob whose run has ended. */
  ran(command: readonly string[], completionTime: string): this {
    const job = stored(
      'SiteJob',
      { name: `job-${this.jobs.length}` },
      { siteRef: { name: 'demo-site' }, command },
    );
    this.jobs.push({ ...job, status: { completionTime } } as KubeObject);
    return this;
  }

  restored(time: string): this {
    const from = { name: 'b', from: 'pvc://b', encryptionKey: 'Secret', requests: ['r'] } as const;
    this.site = { ...this.site, status: { ...this.site.status, restored: { ...from, time } } };
    return this;
  }

  #reconcile(
    answer: Answer | undefined,
    pass: (resource: DocumentResource, reader: ClusterReader) => Report,
    phase = this.status?.phase,
  ): this {
    const { kind, name, spec } = this.of;
    const admitted = stored(
      kind.definition.kind,
      { name },
      { siteRef: { name: 'demo-site' }, ...spec, ...this.spec },
    );
    const resource = { ...admitted, status: this.status } as DocumentResource;
    const results = answer && this.#request ? [resultOf(this.#request.id, answer)] : [];
    const reader = aReader([this.site, ...this.secrets, ...this.jobs, ...results]);
    let report: Report | undefined;
    try {
      report = pass(resource, reader);
    } catch (error) {
      report = reportOf(error, phase, 0);
    }
    assert.ok(report);
    this.status = statusOf(kind, resource as Resource<unknown, Status>, report, new Date(NOW));
    const [request] = report.statusResult.batchObjects ?? [];
    this.#request = request as DocumentRequest | undefined;
    return this;
  }
}

class UserHistory extends DocumentHistory {
  constructor(spec: Fields = {}) {
    const own = { email: 'ada@example.com', firstName: 'Ada' };
    super({ kind: user as unknown as HistoryOf['kind'], name: 'ada', spec: own }, spec);
  }
}

/** A public SiteWorkspace with a module, which a migration to version-16 may delete. */
class WorkspaceHistory extends DocumentHistory {
  constructor(spec: Fields = {}) {
    const own = { title: 'Office', module: 'Desk', resyncInterval: '0s' };
    super({ kind: workspace, name: 'office', spec: own }, spec);
  }
}

function resultOf(
  id: string,
  [outcome, message = '', ignored = [], time = NOW]: Answer,
): KubeObject {
  const note = { outcome, message, ignored, time };
  return { apiVersion: '', kind: 'DocumentResult', metadata: { name: id, namespace: 'default' }, ...note }; // prettier-ignore
}

const LATER = '2026-01-01T00:00:01Z';
const REFUSED = ['Failed', 'LinkValidationError: Could not find Role'] as const;

describe('a resource that is deleted', () => {
  test('takes the document with it that was written', () => {
    const history = new UserHistory().reconcile().reconcile(['Created']).reconcile();
    assert.equal(history.status?.['document'], 'ada@example.com');
    assert.equal(history.delete(), 'Deleting');
    assert.equal(history.request()?.document.state, 'disabled');
    assert.equal(history.request()?.document.onlyAs, undefined);
    assert.equal(history.delete(['Disabled']), undefined);
  });

  test('keeps a document that it never wrote: it belongs to another owner', () => {
    const history = new UserHistory().reconcile().reconcile(REFUSED).reconcile();
    assert.equal(history.status?.['document'], undefined);
    assert.equal(history.delete(), undefined);
  });

  test('takes the document with it that was written, also where a later change was refused', () => {
    const history = new UserHistory().reconcile().reconcile(['Created']).reconcile();
    history.spec = { roles: ['No Such Role'] };
    history.reconcile().reconcile(REFUSED).reconcile();
    assert.equal(history.delete(), 'Deleting');
    assert.equal(history.request()?.document.onlyAs, undefined);
  });

  test('leaves a document alone that was written to the site before this one only', () => {
    const history = new UserHistory().reconcile().reconcile(['Created']).reconcile();
    const { site } = history;
    history.site = { ...site, metadata: { ...site.metadata, deletionTimestamp: NOW } };
    history.reconcile();
    history.site = aSite({}, { uid: 'site-2' });
    history.reconcile().reconcile(REFUSED).reconcile();
    assert.equal(history.delete(), undefined);
  });

  test('is deleted at once before its document is requested', () => {
    assert.equal(new UserHistory().delete(), undefined);
    const history = new UserHistory({ apiKeySecretRef: { name: 'ada-api' } }).reconcile();
    assert.equal(history.request(), undefined, 'its key is not made yet');
    assert.equal(history.delete(), undefined);
  });

  test('while a Job may write its document requests the removal of that document only', () => {
    const history = new UserHistory({ passwordSecretRef: { name: 'ada' } });
    history.secrets = [secret('ada', '1')];
    history.reconcile();
    // They are often deleted together.
    history.secrets = [];
    assert.equal(history.delete(), 'Deleting');
    const { state, onlyAs, secrets } = history.request()?.document ?? {};
    assert.deepEqual([state, onlyAs?.fields['first_name'], secrets], ['disabled', 'Ada', {}]);
    assert.equal(history.delete(['Failed', 'refused']), 'DocumentFailed');
    assert.equal(history.delete(), 'DocumentFailed');
    assert.equal(history.ready.startsWith('DocumentFailed: refused; to skip this, annotate'), true);
  });

  test('while a refused document is tried with another spec requests the removal of that document only', () => {
    const history = new UserHistory().reconcile().reconcile(REFUSED).reconcile();
    history.spec = { lastName: 'Lovelace' };
    history.reconcile();
    assert.equal(history.delete(), 'Deleting');
    assert.equal(history.request()?.document.onlyAs?.fields['last_name'], 'Lovelace');
    assert.equal(history.delete(['Absent']), undefined);
  });
});

describe('a password', () => {
  const withPassword = (key = 'password'): Fields => ({ passwordSecretRef: { name: 'ada', key } });
  /** Whether it is set also where the user is there. */
  const isSet = (history: UserHistory): boolean => {
    const { secrets, secretsWhenNew } = history.request()?.document ?? {};
    assert.ok(secrets?.['password']);
    return secretsWhenNew === undefined;
  };
  const settled = (): UserHistory => {
    const history = new UserHistory(withPassword());
    history.secrets = [secret('ada', '1')];
    assert.equal(isSet(history.reconcile()), true);
    return history.reconcile(['Created']).reconcile();
  };

  test('is set once, and again only where the user does not exist', () => {
    const history = settled();
    history.spec = { ...history.spec, lastName: 'Lovelace' };
    assert.equal(isSet(history.reconcile()), false);
  });

  test('is set again when its Secret changes', () => {
    const history = settled();
    history.secrets = [secret('ada', '2')];
    assert.equal(isSet(history.reconcile()), true);
    history.reconcile(['Changed']);
    assert.equal(history.reconcile().request(), undefined);
  });

  test('is set again when another key of the Secret is named', () => {
    const history = settled();
    history.spec = withPassword('ada');
    assert.equal(isSet(history.reconcile()), true);
  });

  test('is set again in a site that was created again, or whose data was restored', () => {
    const fresh = settled();
    fresh.site = aSite({}, { uid: 'site-2' });
    assert.equal(isSet(fresh.reconcile()), true);
    assert.equal(isSet(settled().restored(LATER).reconcile()), true);
  });

  test('that was set by release 0.1 is not set again by a new operator, nor is the user written', () => {
    const history = settled();
    history.status = { ...history.status, passwordVersion: '1' };
    assert.equal(history.reconcile().request(), undefined);
    history.spec = { ...history.spec, lastName: 'Lovelace' };
    assert.equal(isSet(history.reconcile()), false);
    history.reconcile(['Changed']).reconcile();
    history.spec = withPassword('ada');
    assert.equal(isSet(history.reconcile()), true);
  });
});

describe('what the last comparison has found', () => {
  test('is not reported with the message of a pause: a failure is tried again after it', () => {
    const history = new UserHistory().reconcile().reconcile(REFUSED).reconcile();
    assert.equal(history.ready, 'DocumentFailed: LinkValidationError: Could not find Role');
    assert.equal(history.request(), undefined);
    history.pause().reconcile();
    assert.equal(history.ready, 'Syncing: waiting for Job demo-site-documents');
    const { id } = history.request() ?? {};
    assert.equal(history.reconcile().request()?.id, id, 'it is asked for once');
    history.reconcile(REFUSED).reconcile();
    assert.equal(history.ready, 'DocumentFailed: LinkValidationError: Could not find Role');
    assert.equal(history.request(), undefined);
  });

  test('is not reported with the message of a missing Secret', () => {
    const history = new UserHistory({ passwordSecretRef: { name: 'ada' } });
    history.secrets = [secret('ada', '1')];
    history.reconcile().reconcile(REFUSED).reconcile();
    history.secrets = [];
    assert.match(history.reconcile().ready, /^SecretMissing: /);
    history.secrets = [secret('ada', '1')];
    assert.equal(history.reconcile().ready, 'Syncing: waiting for Job demo-site-documents');
  });

  test('names the fields that were ignored also after a pause', () => {
    const history = new UserHistory()
      .reconcile()
      .reconcile(['Created', '', ['time_zone']])
      .reconcile();
    assert.deepEqual(history.conditions, ['Ready', 'FieldsIgnored']);
    assert.deepEqual(history.pause().conditions, ['Ready', 'Paused']);
    assert.deepEqual(history.reconcile().conditions, ['Ready', 'FieldsIgnored']);
    history.spec = { resyncInterval: '0s', lastName: 'Lovelace' };
    history.reconcile().reconcile(['Changed']).reconcile();
    assert.deepEqual(history.conditions, ['Ready']);
  });

  test('names the fields that were ignored also where release 0.1 has compared', () => {
    const history = new UserHistory().reconcile().reconcile(['Created', '', ['time_zone']]);
    history.status = { ...history.status, ignoredFields: undefined };
    assert.deepEqual(history.reconcile().conditions, ['Ready', 'FieldsIgnored']);
    assert.equal(history.request(), undefined);
  });
});

describe('a migration of the site', () => {
  const synced = (spec: Fields): UserHistory =>
    new UserHistory(spec).migrated('frappe:15').reconcile().reconcile(['Created']).reconcile();

  test('makes its documents be compared again: version-16 deletes some workspaces', () => {
    const history = synced({});
    assert.equal(history.request(), undefined);
    history.migrated('frappe:16').reconcile();
    assert.equal(history.ready, 'Syncing: waiting for Job demo-site-documents');
    history.reconcile(['Created']).reconcile();
    assert.deepEqual([history.request(), history.status?.phase], [undefined, 'Ready']);
  });

  test('is none where an older release has recorded no image: nothing is compared', () => {
    const history = new UserHistory({}).reconcile().reconcile(['Created']).reconcile();
    history.migrated('frappe:15').reconcile();
    assert.deepEqual([history.request(), history.status?.phase], [undefined, 'Ready']);
  });

  test('undoes no change in the site where none ever is', () => {
    assert.equal(
      synced({ resyncInterval: '0s' }).migrated('frappe:16').reconcile().request(),
      undefined,
    );
  });

  const office = (spec: Fields = {}): WorkspaceHistory =>
    new WorkspaceHistory(spec).migrated('frappe:15').reconcile().reconcile(['Created']).reconcile();

  test('creates a workspace again that it may have deleted, and undoes no change of it', () => {
    const history = office();
    assert.equal(history.request(), undefined);
    history.migrated('frappe:16').reconcile();
    assert.equal(history.request()?.document.createOnly, true);
    assert.equal(history.status?.phase, 'Ready');
    history.reconcile(['Created', '', [], LATER]).reconcile();
    assert.deepEqual([history.request(), history.status.phase], [undefined, 'Ready']);
    history.spec = { icon: 'tool' };
    assert.equal(history.reconcile().request()?.document.createOnly, undefined);
  });

  test('leaves a private workspace, and one without a module, as they are', () => {
    for (const spec of [{ forUser: 'ada@example.com' }, { module: undefined }]) {
      const history = office(spec).migrated('frappe:16').ran(['migrate'], LATER).reconcile();
      assert.equal(history.request(), undefined, JSON.stringify(spec));
    }
  });

  test('is found where release 0.2.0 has recorded no image, from the next one on', () => {
    const history = office();
    const [plain] = String(history.status?.['documentHash']).split('.');
    history.status = { ...history.status, documentHash: plain };
    history.migrated('frappe:16').reconcile();
    assert.equal(history.request(), undefined);
    assert.notEqual(history.migrated('frappe:17').reconcile().request(), undefined);
  });

  test('by a SiteJob makes documents be compared once, those without a resync only created', () => {
    for (const [history, createOnly] of [
      [office(), true],
      [office({ resyncInterval: '1h' }), undefined],
      [synced({}), undefined],
    ] as const) {
      assert.equal(history.ran(['backup'], LATER).reconcile().request(), undefined);
      history.ran(['migrate', '--skip-failing'], LATER).reconcile();
      assert.equal(history.request()?.document.createOnly, createOnly);
      assert.equal(history.status?.phase, 'Ready');
      history.reconcile(['Unchanged', '', [], '2026-01-01T00:00:09Z']).reconcile();
      assert.deepEqual([history.request(), history.status.phase], [undefined, 'Ready']);
    }
    const never = synced({ resyncInterval: '0s' }).ran(['migrate'], LATER).reconcile();
    assert.equal(never.request(), undefined);
  });

  test('by a SiteJob is found with any clock, also in the second of the last comparison', () => {
    for (const ended of ['2025-12-31T23:00:00Z', NOW, LATER]) {
      for (const history of [office(), office({ resyncInterval: '1h' }), synced({})]) {
        history.ran(['migrate'], ended).reconcile();
        assert.notEqual(history.request(), undefined, ended);
        history.reconcile(['Unchanged', '', [], NOW]).reconcile();
        assert.deepEqual([history.request(), history.status?.phase], [undefined, 'Ready'], ended);
        history.ran(['migrate'], '2026-01-01T00:01:00Z').reconcile();
        assert.notEqual(history.request(), undefined, 'a second migration');
      }
    }
  });

  test('before an upgrade from release 0.2.0 makes no document be compared after it', () => {
    for (const history of [office(), office({ resyncInterval: '1h' })]) {
      // It has recorded neither the image nor the migration.
      const { documentHash } = office().status ?? {};
      history.ran(['migrate'], '2025-12-31T23:00:00Z');
      history.status = { ...history.status, documentHash: String(documentHash).split('.')[0] };
      assert.equal(history.reconcile().request(), undefined);
      history.ran(['migrate'], '2025-12-31T23:30:00Z').reconcile();
      assert.notEqual(history.request(), undefined);
    }
  });

  test('does not set the password again', () => {
    const history = new UserHistory({ passwordSecretRef: { name: 'ada' } }).migrated('frappe:15');
    history.secrets = [secret('ada', '1')];
    history.reconcile().reconcile(['Created']).reconcile();
    const { document } = history.migrated('frappe:16').reconcile().request() ?? {};
    assert.deepEqual(document?.secretsWhenNew, ['password']);
  });
});

describe('a restore of the site', () => {
  test('makes its documents be compared again: the backup may lack them', () => {
    const history = new UserHistory({ resyncInterval: '0s' })
      .reconcile()
      .reconcile(['Created'])
      .reconcile();
    assert.equal(history.request(), undefined);
    history.restored(LATER).reconcile();
    assert.equal(history.ready, 'Syncing: waiting for Job demo-site-documents');
    assert.equal(history.request()?.document.state, 'present');
    history.reconcile(['Created', '', [], '2026-01-01T00:00:09Z']).reconcile();
    assert.deepEqual([history.request(), history.status?.phase], [undefined, 'Ready']);
  });

  test('makes one comparison, with any clock of the node', () => {
    for (const time of ['2025-12-01T00:00:00Z', '2026-01-02T00:00:00Z']) {
      const history = new UserHistory({ resyncInterval: '0s' })
        .reconcile()
        .reconcile(['Created'])
        .reconcile();
      history.restored(time).reconcile();
      assert.equal(history.request()?.document.state, 'present', time);
      history.reconcile(['Created', '', [], '2026-01-01T00:00:09Z']).reconcile();
      assert.deepEqual([history.request(), history.status?.phase], [undefined, 'Ready'], time);
    }
  });
});

function secret(name: string, resourceVersion: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default', uid: name, resourceVersion } }; // prettier-ignore
}
