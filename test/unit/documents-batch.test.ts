import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { documents } from '../../constructs/batches/documents/batch.js';
import type { DocumentRequest, DocumentResult } from '../../constructs/kit/document.js';

const TIME = '2026-01-01T00:00:00Z';

function aRequest(id: string, bytes: number): DocumentRequest {
  return {
    apiVersion: 'app-operator.io/v1alpha1',
    kind: 'DocumentRequest',
    metadata: { namespace: 'ns', name: id },
    site: 'shop',
    id,
    document: {
      doctype: 'Workspace',
      name: id,
      state: 'present',
      fields: { text: 'x'.repeat(bytes) },
      json: {},
      tables: {},
      secrets: {},
      needs: [],
    },
  };
}

const idsOf = (requests: readonly { readonly id: string }[]): readonly string[] =>
  requests.map(({ id }) => id);

describe('a batch of documents', () => {
  test('takes as many documents as fit into its ConfigMap', () => {
    const requests = ['a', 'b', 'c', 'd'].map((id) => aRequest(id, 300_000));
    assert.deepEqual(idsOf(documents.take(requests)), ['a', 'b']);
  });
  test('takes none after the first that is too much: their order stays', () => {
    const requests = [aRequest('a', 10), aRequest('b', 900_000), aRequest('c', 10)];
    assert.deepEqual(idsOf(documents.take(requests)), ['a']);
  });
  test('takes one document alone that just fits into a ConfigMap', () => {
    const most = aRequest('a', 1_048_400);
    assert.deepEqual(idsOf(documents.take([most, aRequest('b', 10)])), ['a']);
    assert.equal(documents.unfit(most, TIME), undefined);
  });
  test('fails a document that is too large for a ConfigMap', () => {
    const { outcome, message } = documents.unfit(aRequest('a', 1_048_576), TIME) as DocumentResult;
    assert.equal(outcome, 'Failed');
    assert.match(message, /^it takes 10487\d\d bytes; a Job can take 1048576$/);
  });
  test('fails one that breaks its Job, with the message of the Job', () => {
    for (const why of ['container documents ended with exit code 137', 'RedisUnreachable: no']) {
      assert.deepEqual(documents.failed(aRequest('a', 1), why, TIME), {
        apiVersion: '',
        kind: 'DocumentResult',
        metadata: { namespace: 'ns', name: 'a' },
        outcome: 'Failed',
        message: `Job shop-documents: ${why}`,
        ignored: [],
        time: TIME,
      });
    }
  });
  test('fails none for what is wrong with the site', () => {
    for (const why of [
      'DatabaseUnreachable: no',
      'SiteBusy: no',
      'SiteClosed: no',
      'SiteMissing: no',
    ]) {
      assert.equal(documents.failed(aRequest('a', 1), why, TIME), undefined, why);
    }
  });
  test('reports results with their outcomes, messages and skipped fields', () => {
    const words = JSON.stringify({
      results: { a: ['Failed', 'no such role', []], b: ['Created', '', ['app']] },
    });
    const results = documents.results(words, '2026-01-01T00:00:00Z', 'ns');
    assert.deepEqual(
      results.map(({ metadata, ...rest }) => [metadata.name, rest]),
      [
        [
          'a',
          {
            apiVersion: '',
            kind: 'DocumentResult',
            outcome: 'Failed',
            message: 'no such role',
            ignored: [],
            time: '2026-01-01T00:00:00Z',
          },
        ],
        [
          'b',
          {
            apiVersion: '',
            kind: 'DocumentResult',
            outcome: 'Created',
            message: '',
            ignored: ['app'],
            time: '2026-01-01T00:00:00Z',
          },
        ],
      ],
    );
  });
});
