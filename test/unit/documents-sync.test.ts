import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { DocumentOutcome, DocumentRequest } from '../../constructs/kit/document.js';
import { Waiting } from '../../constructs/kit/errors.js';
import type { ClusterReader } from '../../constructs/kit/kind.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import type { AppSite } from '../../constructs/site/api.js';
import type { SiteUser } from '../../constructs/user/api.js';
import { user } from '../../constructs/user/index.js';
import { deleting, paused, reportOf, type Report } from '../../runner/reconcile/report.js';
import type { Status } from '../../runner/reconcile/resource-status.js';
import { statusOf } from '../../runner/reconcile/status.js';
import { aSite, aReader, stored } from '../golden/builders.js';
import { NOW } from '../golden/scenario.js';

type Fields = Readonly<Record<string, unknown>>;
type Answer = readonly [DocumentOutcome, string?, (readonly string[])?, string?];

/** A SiteUser over some visits, each with the status that the one before has left. */
class Life {
  status: Status | undefined;
  #request: DocumentRequest | undefined;
  site: AppSite = aSite({}, { uid: 'site-1' });
  secrets: KubeObject[] = [];

  constructor(public spec: Fields = {}) {}

  /** @param answer what came of what it has asked for */
  reconcile(answer?: Answer): this {
    return this.#reconcile(answer, (resource, reader) => {
      const inputs = user.resolve(resource, reader);
      const nothing = { pending: [], runs: [], probes: [], child: () => undefined };
      const statusResult = user.evaluate({
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
    const pass = (resource: SiteUser, reader: ClusterReader): Report => {
      try {
        user.cleanup.blockers(resource, reader);
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

  /** What it asks for since the last visit. */
  asks(): DocumentRequest | undefined {
    return this.#request;
  }

  get conditions(): readonly string[] {
    return (this.status?.conditions ?? []).map(({ type }) => type);
  }

  restored(time: string): this {
    const from = { name: 'b', from: 'pvc://b', encryptionKey: 'Secret', requests: ['r'] } as const;
    this.site = { ...this.site, status: { ...this.site.status, restored: { ...from, time } } };
    return this;
  }

  #reconcile(
    answer: Answer | undefined,
    pass: (resource: SiteUser, reader: ClusterReader) => Report,
    phase = this.status?.phase,
  ): this {
    const spec = { siteRef: { name: 'demo-site' }, email: 'ada@example.com', firstName: 'Ada' };
    const admitted = stored('SiteUser', { name: 'ada' }, { ...spec, ...this.spec });
    const resource = { ...admitted, status: this.status } as SiteUser;
    const results = answer && this.#request ? [resultOf(this.#request.id, answer)] : [];
    const reader = aReader([this.site, ...this.secrets, ...results]);
    let report: Report | undefined;
    try {
      report = pass(resource, reader);
    } catch (error) {
      report = reportOf(error, phase, 0);
    }
    assert.ok(report);
    this.status = statusOf(user, resource as Resource<unknown, Status>, report, new Date(NOW));
    const [request] = report.statusResult.batchObjects ?? [];
    this.#request = request as DocumentRequest | undefined;
    return this;
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
    const life = new Life().reconcile().reconcile(['Created']).reconcile();
    assert.equal(life.status?.['document'], 'ada@example.com');
    assert.equal(life.delete(), 'Deleting');
    assert.equal(life.asks()?.document.state, 'disabled');
    assert.equal(life.asks()?.document.onlyAs, undefined);
    assert.equal(life.delete(['Disabled']), undefined);
  });

  test('keeps a document that it never wrote: it belongs to another owner', () => {
    const life = new Life().reconcile().reconcile(REFUSED).reconcile();
    assert.equal(life.status?.['document'], undefined);
    assert.equal(life.delete(), undefined);
  });

  test('takes the document with it that was written, also where a later change was refused', () => {
    const life = new Life().reconcile().reconcile(['Created']).reconcile();
    life.spec = { roles: ['No Such Role'] };
    life.reconcile().reconcile(REFUSED).reconcile();
    assert.equal(life.delete(), 'Deleting');
    assert.equal(life.asks()?.document.onlyAs, undefined);
  });

  test('leaves a document alone that was written to the site before this one only', () => {
    const life = new Life().reconcile().reconcile(['Created']).reconcile();
    const { site } = life;
    life.site = { ...site, metadata: { ...site.metadata, deletionTimestamp: NOW } };
    life.reconcile();
    life.site = aSite({}, { uid: 'site-2' });
    life.reconcile().reconcile(REFUSED).reconcile();
    assert.equal(life.delete(), undefined);
  });

  test('is deleted at once before its document is requested', () => {
    assert.equal(new Life().delete(), undefined);
    const life = new Life({ apiKeySecretRef: { name: 'ada-api' } }).reconcile();
    assert.equal(life.asks(), undefined, 'its key is not made yet');
    assert.equal(life.delete(), undefined);
  });

  test('while a Job may write its document asks to remove that one, and none that is another’s', () => {
    const life = new Life({ passwordSecretRef: { name: 'ada' } });
    life.secrets = [secret('ada', '1')];
    life.reconcile();
    // They are often deleted together.
    life.secrets = [];
    assert.equal(life.delete(), 'Deleting');
    const { state, onlyAs, secrets } = life.asks()?.document ?? {};
    assert.deepEqual([state, onlyAs?.fields['first_name'], secrets], ['disabled', 'Ada', {}]);
    assert.equal(life.delete(['Failed', 'refused']), 'DocumentFailed');
    assert.equal(life.delete(), 'DocumentFailed');
    assert.equal(life.ready.startsWith('DocumentFailed: refused; to skip this, annotate'), true);
  });

  test('while what was refused is tried with another spec asks to remove just that', () => {
    const life = new Life().reconcile().reconcile(REFUSED).reconcile();
    life.spec = { lastName: 'Lovelace' };
    life.reconcile();
    assert.equal(life.delete(), 'Deleting');
    assert.equal(life.asks()?.document.onlyAs?.fields['last_name'], 'Lovelace');
    assert.equal(life.delete(['Absent']), undefined);
  });
});

describe('a password', () => {
  const withPassword = (key = 'password'): Fields => ({ passwordSecretRef: { name: 'ada', key } });
  /** Whether it is set also where the user is there. */
  const isSet = (life: Life): boolean => {
    const { secrets, secretsWhenNew } = life.asks()?.document ?? {};
    assert.ok(secrets?.['password']);
    return secretsWhenNew === undefined;
  };
  const settled = (): Life => {
    const life = new Life(withPassword());
    life.secrets = [secret('ada', '1')];
    assert.equal(isSet(life.reconcile()), true);
    return life.reconcile(['Created']).reconcile();
  };

  test('is set once, and again only where the user does not exist', () => {
    const life = settled();
    life.spec = { ...life.spec, lastName: 'Lovelace' };
    assert.equal(isSet(life.reconcile()), false);
  });

  test('is set again when its Secret changes', () => {
    const life = settled();
    life.secrets = [secret('ada', '2')];
    assert.equal(isSet(life.reconcile()), true);
    life.reconcile(['Changed']);
    assert.equal(life.reconcile().asks(), undefined);
  });

  test('is set again when another key of the Secret is named', () => {
    const life = settled();
    life.spec = withPassword('ada');
    assert.equal(isSet(life.reconcile()), true);
  });

  test('is set again in a site that was created again, or whose data was restored', () => {
    const anew = settled();
    anew.site = aSite({}, { uid: 'site-2' });
    assert.equal(isSet(anew.reconcile()), true);
    assert.equal(isSet(settled().restored(LATER).reconcile()), true);
  });

  test('that was set by release 0.1 is not set again by a new operator, nor is the user written', () => {
    const life = settled();
    life.status = { ...life.status, passwordVersion: '1' };
    assert.equal(life.reconcile().asks(), undefined);
    life.spec = { ...life.spec, lastName: 'Lovelace' };
    assert.equal(isSet(life.reconcile()), false);
    life.reconcile(['Changed']).reconcile();
    life.spec = withPassword('ada');
    assert.equal(isSet(life.reconcile()), true);
  });
});

describe('what the last comparison has found', () => {
  test('is not reported with the message of a pause: a failure is tried again after it', () => {
    const life = new Life().reconcile().reconcile(REFUSED).reconcile();
    assert.equal(life.ready, 'DocumentFailed: LinkValidationError: Could not find Role');
    assert.equal(life.asks(), undefined);
    life.pause().reconcile();
    assert.equal(life.ready, 'Syncing: waiting for Job demo-site-documents');
    const { id } = life.asks() ?? {};
    assert.equal(life.reconcile().asks()?.id, id, 'it is asked for once');
    life.reconcile(REFUSED).reconcile();
    assert.equal(life.ready, 'DocumentFailed: LinkValidationError: Could not find Role');
    assert.equal(life.asks(), undefined);
  });

  test('is not reported with the message of a missing Secret', () => {
    const life = new Life({ passwordSecretRef: { name: 'ada' } });
    life.secrets = [secret('ada', '1')];
    life.reconcile().reconcile(REFUSED).reconcile();
    life.secrets = [];
    assert.match(life.reconcile().ready, /^SecretMissing: /);
    life.secrets = [secret('ada', '1')];
    assert.equal(life.reconcile().ready, 'Syncing: waiting for Job demo-site-documents');
  });

  test('names the fields that were ignored also after a pause', () => {
    const life = new Life()
      .reconcile()
      .reconcile(['Created', '', ['time_zone']])
      .reconcile();
    assert.deepEqual(life.conditions, ['Ready', 'FieldsIgnored']);
    assert.deepEqual(life.pause().conditions, ['Ready', 'Paused']);
    assert.deepEqual(life.reconcile().conditions, ['Ready', 'FieldsIgnored']);
    life.spec = { resyncInterval: '0s', lastName: 'Lovelace' };
    life.reconcile().reconcile(['Changed']).reconcile();
    assert.deepEqual(life.conditions, ['Ready']);
  });

  test('names the fields that were ignored also where release 0.1 has compared', () => {
    const life = new Life().reconcile().reconcile(['Created', '', ['time_zone']]);
    life.status = { ...life.status, ignoredFields: undefined };
    assert.deepEqual(life.reconcile().conditions, ['Ready', 'FieldsIgnored']);
    assert.equal(life.asks(), undefined);
  });
});

describe('a restore of the site', () => {
  test('makes its documents be compared again: the backup may lack them', () => {
    const life = new Life({ resyncInterval: '0s' }).reconcile().reconcile(['Created']).reconcile();
    assert.equal(life.asks(), undefined);
    life.restored(LATER).reconcile();
    assert.equal(life.ready, 'Syncing: waiting for Job demo-site-documents');
    assert.equal(life.asks()?.document.state, 'present');
    life.reconcile(['Created', '', [], '2026-01-01T00:00:09Z']).reconcile();
    assert.deepEqual([life.asks(), life.status?.phase], [undefined, 'Ready']);
  });

  test('makes one comparison, with any clock of the node', () => {
    for (const time of ['2025-12-01T00:00:00Z', '2026-01-02T00:00:00Z']) {
      const life = new Life({ resyncInterval: '0s' })
        .reconcile()
        .reconcile(['Created'])
        .reconcile();
      life.restored(time).reconcile();
      assert.equal(life.asks()?.document.state, 'present', time);
      life.reconcile(['Created', '', [], '2026-01-01T00:00:09Z']).reconcile();
      assert.deepEqual([life.asks(), life.status?.phase], [undefined, 'Ready'], time);
    }
  });
});

function secret(name: string, resourceVersion: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default', uid: name, resourceVersion } }; // prettier-ignore
}
