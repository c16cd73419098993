import assert from 'node:assert/strict';

import type { KubeObject } from '../../constructs/kit/object.js';
import { ApiError } from '../../runner/api/api-error.js';
import type { Client, Method, RequestOptions } from '../../runner/api/client.js';

type Body = KubeObject & { readonly data?: unknown };

/** Objects by name, as much of an API server as applying one child needs. */
export class FakeApi implements Pick<Client, 'request' | 'apply'> {
  readonly objects = new Map<string, KubeObject>();
  /** As `APPLY a`. */
  readonly calls: string[] = [];
  readonly bodies: KubeObject[] = [];
  /** What every call is answered with. */
  fail: ApiError | undefined;
  #version = 100;
  #last: KubeObject | undefined;

  async apply<T>(path: string, object: unknown): Promise<T> {
    const wanted = object as Body;
    const name = this.#note('APPLY', path, wanted);
    const before = this.objects.get(name);
    const { resourceVersion, uid } = wanted.metadata;
    if (before && resourceVersion !== undefined) throw conflict('Conflict');
    if (uid !== undefined && uid !== before?.metadata.uid) throw conflict('Conflict');
    if (before && same(before, wanted)) return before as T;
    const managedFields = [
      {
        manager: 'app-operator',
        operation: 'Apply' as const,
        fieldsV1: {
          'f:data': fieldsOf(wanted.data),
          'f:spec': {},
          'f:metadata': { 'f:labels': {} },
        },
      },
    ];
    const { metadata, ...content } = wanted;
    return this.put({
      ...content,
      metadata: { ...before?.metadata, ...metadata, managedFields },
    }) as T;
  }

  async request<T>(method: Method, path: string, options: RequestOptions = {}): Promise<T> {
    const body = options.body as Body;
    const name = this.#note(method, path, body);
    const found = this.objects.get(name);
    if (method === 'POST') {
      if (found) throw conflict('AlreadyExists');
      return this.put(body) as T;
    }
    if (!found) throw new ApiError(404, 'NotFound', {}, 'no');
    if (method === 'GET') return found as T;
    if (method === 'DELETE') {
      this.#last = found;
      this.objects.delete(name);
      return undefined as T;
    }
    assert.equal(method, 'PATCH');
    const { metadata } = found;
    const labels = merged(metadata.labels, body.metadata.labels);
    const annotations = merged(metadata.annotations, body.metadata.annotations);
    return this.put({
      ...found,
      metadata: { ...metadata, ...body.metadata, labels, annotations },
    }) as T;
  }

  /** Puts in an object with a new version. */
  put(object: KubeObject): KubeObject {
    const { name, uid = `uid-${this.#version}` } = object.metadata;
    const resourceVersion = String(++this.#version);
    const stored = { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
    this.objects.set(name, stored);
    return stored;
  }

  edit(name: string, change: (object: KubeObject) => KubeObject): void {
    this.put(change(this.the(name)));
  }

  the(name: string): KubeObject {
    const found = this.objects.get(name);
    assert.ok(found, name);
    return found;
  }

  /** The object that was deleted last, as the watch brings it. */
  deleted(name: string): KubeObject {
    assert.equal(this.#last?.metadata.name, name);
    const resourceVersion = String(++this.#version);
    return { ...this.#last, metadata: { ...this.#last.metadata, resourceVersion } };
  }

  #note(what: string, path: string, body: Body): string {
    const name = what === 'POST' ? body.metadata.name : (path.split('/').at(-1) ?? '');
    this.calls.push(`${what} ${name}`);
    if (what !== 'GET') this.bodies.push(body);
    assert.ok(this.calls.length < 50, `too many calls: ${this.calls.slice(0, 10).join(', ')} …`);
    if (this.fail) throw this.fail;
    return name;
  }
}

/** As a merge patch: null takes a key away. */
function merged(
  before: Readonly<Record<string, string>> = {},
  patch: Readonly<Record<string, string | null>> = {},
): Record<string, string> {
  const all = Object.entries<string | null>({ ...before, ...patch });
  return Object.fromEntries(all.flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
}

function conflict(reason: string): ApiError {
  return new ApiError(409, reason, {}, 'no');
}

function same(before: KubeObject, wanted: Body): boolean {
  const content = ({ metadata: { labels }, ...rest }: KubeObject): string =>
    JSON.stringify([labels, rest]);
  return content(before) === content(wanted);
}

function fieldsOf(map: unknown): object {
  return Object.fromEntries(Object.keys(map ?? {}).map((key) => [`f:${key}`, {}]));
}
