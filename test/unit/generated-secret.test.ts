import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';

import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { valuesIdOf } from '../../constructs/kit/secret-values.js';
import { withValues } from '../../runner/apply/secret-values.js';
import { ValuesIds } from '../../runner/cache/values-ids.js';

const METADATA_KEYS = metadataKeysFor(DEFAULT_API_GROUP);
const ID = '0123456789abcdef';
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

const secret = (keys: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', annotations: { [METADATA_KEYS.generate]: JSON.stringify(keys) } },
});

/** The generated values, decoded. */
function values(
  keys: Readonly<Record<string, string>>,
  bytes: (size: number) => Uint8Array = randomBytes,
): Readonly<Record<string, string>> {
  const { data } = withValues(secret(keys), METADATA_KEYS, ID, bytes);
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  );
}

/** A source that gives these bytes, again and again. */
function source(bytes: readonly number[]): (size: number) => Uint8Array {
  let next = 0;
  return (size) => Uint8Array.from({ length: size }, () => bytes[next++ % bytes.length] ?? 0);
}

describe('a generated password', () => {
  test('has 32 letters and digits', () => {
    for (let round = 0; round < 500; round++) {
      assert.match(values({ password: 'password' })['password'] ?? '', /^[A-Za-z0-9]{32}$/);
    }
  });

  test('is another one each time, and for each key', () => {
    const made = Array.from({ length: 100 }, () => values({ a: 'password', b: 'password' }));
    assert.equal(new Set(made.flatMap(({ a, b }) => [a, b])).size, 200);
  });

  test('takes each letter from as many bytes as any other: none is likelier', () => {
    const counts = new Map<string, number>();
    for (let byte = 0; byte < 256; byte++) {
      // A byte that is passed over gives way to the next one, of which another letter comes.
      const filler = byte < 248 ? byte : 61;
      const { p = '' } = values({ p: 'password' }, source([byte, filler]));
      const first = p.charAt(0);
      if (byte < 248) counts.set(first, (counts.get(first) ?? 0) + 1);
      else assert.equal(first, '9', `byte ${byte} is passed over`);
    }
    assert.deepEqual([...counts.keys()].sort(), Array.from(ALPHABET).sort());
    assert.deepEqual(new Set(counts.values()), new Set([4]));
  });

  test('is as long when most bytes are passed over', () => {
    const bytes = [...Array.from({ length: 40 }, () => 255), 0];
    assert.equal(values({ p: 'password' }, source(bytes))['p'], 'A'.repeat(32));
  });
});

describe('a generated Fernet key', () => {
  test('is 32 bytes in URL-safe base64, with padding', () => {
    for (let round = 0; round < 200; round++) {
      const { key = '' } = values({ key: 'fernet' });
      assert.match(key, /^[A-Za-z0-9_-]{43}=$/);
      assert.equal(Buffer.from(key, 'base64url').length, 32);
    }
  });

  test('holds the bytes that it was made from', () => {
    const bytes = Array.from({ length: 32 }, (_, index) => 248 + (index % 8));
    const { key = '' } = values({ key: 'fernet' }, source(bytes));
    assert.deepEqual([...Buffer.from(key, 'base64url')], bytes);
    assert.ok(key.includes('-') && key.includes('_') && !/[+/]/.test(key));
  });
});

describe('a Secret with its values', () => {
  test('stays as it was otherwise', () => {
    const wanted = secret({ a: 'password', b: 'fernet' });
    const { data, metadata, ...rest } = withValues(wanted, METADATA_KEYS, ID, randomBytes);
    const { [METADATA_KEYS.generatedId]: id, ...annotations } = metadata.annotations ?? {};
    assert.deepEqual({ ...rest, metadata: { ...metadata, annotations } }, wanted);
    assert.equal(id, ID);
    assert.deepEqual(Object.keys(data), ['a', 'b']);
  });

  test('has none where none are requested', () => {
    const plain: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } };
    assert.deepEqual(withValues(plain, METADATA_KEYS, ID, randomBytes).data, {});
  });
});

describe('the id of values that are generated next', () => {
  const idOf = (ids: ValuesIds): string => valuesIdOf(ids.expected('n', 's'));

  test('is expected until they are generated under it', () => {
    const ids = new ValuesIds();
    const expected = idOf(ids);
    assert.match(expected, /^[0-9a-f]{16}$/);
    assert.equal(idOf(ids), expected);
    assert.equal(ids.next('n', 's'), expected);
    assert.equal(ids.next('n', 's'), expected, 'a failed attempt uses no id');
    assert.notEqual(ids.next('n', 'other'), expected);
  });
  test('names one generation only', () => {
    const ids = new ValuesIds();
    const expected = idOf(ids);
    ids.use('n', 's');
    assert.equal(idOf(ids), expected, 'the caches do not have the Secret yet');
    assert.notEqual(ids.next('n', 's'), expected, 'it was deleted before they had it');
    ids.seen('n/s');
    assert.notEqual(idOf(ids), expected);
  });
});
