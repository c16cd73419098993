import { randomBytes } from 'node:crypto';
import { GENERATED_ID } from '../../constructs/kit/metadata-keys.js';
import { joined, type KubeObject } from '../../constructs/kit/object.js';
import { keepNewest } from '../kit/keep-newest.js';

/** More are not created at the same time. */
const MAX_IDS = 10_000;

interface Expected {
  readonly secret: KubeObject;
  readonly id: string;
  /** Whether values were generated under the id. */
  used: boolean;
}

/**
 * The ids of values that are generated next, see `valuesIdOf`. They are known before the Secret exists, so
 * that what depends on them is planned once.
 */
export class ValuesIds {
  readonly #expected = new Map<string, Expected>();

  /** A Secret that does not exist, as it will be read. */
  expected(namespace: string, name: string): KubeObject {
    const key = joined(namespace, name);
    const known = this.#expected.get(key);
    if (known) return known.secret;
    const id = newId();
    const metadata = { name, namespace, annotations: { [GENERATED_ID]: id } };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata };
    this.#expected.set(key, { secret, id, used: false });
    keepNewest(this.#expected, MAX_IDS);
    return secret;
  }

  /** The id for values that are generated now. It is not used again, also if the Secret is deleted at once. */
  next(namespace: string, name: string): string {
    const known = this.#expected.get(joined(namespace, name));
    return known && !known.used ? known.id : newId();
  }

  /** Values were generated. */
  use(namespace: string, name: string): void {
    const known = this.#expected.get(joined(namespace, name));
    if (known) known.used = true;
  }

  /** The caches have the Secret, `<namespace>/<name>`: after its deletion another one is expected. */
  seen(key: string): void {
    this.#expected.delete(key);
  }
}

function newId(): string {
  return randomBytes(8).toString('hex');
}
