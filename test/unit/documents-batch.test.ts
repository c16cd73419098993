import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { documents } from '../../constructs/documents/batch.js';
import type { DocumentRequest } from '../../constructs/kit/document.js';

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
  test('takes as many as its ConfigMap can hold', () => {
    const requests = ['a', 'b', 'c', 'd'].map((id) => aRequest(id, 300_000));
    assert.deepEqual(idsOf(documents.take(requests)), ['a', 'b']);
  });
  test('takes none after the first that is too much: their order stays', () => {
    const requests = [aRequest('a', 10), aRequest('b', 900_000), aRequest('c', 10)];
    assert.deepEqual(idsOf(documents.take(requests)), ['a']);
  });
  test('takes one that nothing can hold: the API server says so', () => {
    assert.deepEqual(idsOf(documents.take([aRequest('a', 2_000_000)])), ['a']);
  });
  test('tells results with their outcomes, words and the fields that were left out', () => {
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
