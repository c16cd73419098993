import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject } from '../../constructs/kit/object.js';

/** 32 letters and digits: 190 bits, without characters that files or URLs must quote. */
const PASSWORD_LENGTH = 32;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** What the annotation of a generated Secret can request for a key. */
type Wanted = 'password' | 'fernet' | { readonly text: string };

/**
 * A generated Secret with the values that its annotation requests, from random bytes.
 * @param id names the values
 * @param randomBytes a cryptographic source
 */
export function withValues(
  secret: KubeObject,
  metadataKeys: MetadataKeys,
  id: string,
  randomBytes: (size: number) => Uint8Array,
): KubeObject & { readonly data: Readonly<Record<string, string>> } {
  const keys = JSON.parse(secret.metadata.annotations?.[metadataKeys.generate] ?? '{}') as Readonly<
    Record<string, Wanted>
  >;
  const data = Object.fromEntries(
    Object.entries(keys).map(([key, what]) => [
      key,
      Buffer.from(valueOf(what, randomBytes)).toString('base64'),
    ]),
  );
  const { metadata } = secret;
  const annotations = { ...metadata.annotations, [metadataKeys.generatedId]: id };
  return { ...secret, metadata: { ...metadata, annotations }, data };
}

function valueOf(what: Wanted, randomBytes: (size: number) => Uint8Array): string {
  if (typeof what === 'object') return what.text;
  return what === 'fernet' ? fernetKey(randomBytes) : password(randomBytes);
}

function password(randomBytes: (size: number) => Uint8Array): string {
  let text = '';
  while (text.length < PASSWORD_LENGTH) {
    for (const byte of randomBytes(PASSWORD_LENGTH)) {
      // Larger bytes would make the first letters of the alphabet more likely.
      if (byte >= 256 - (256 % ALPHABET.length)) continue;
      text += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return text.slice(0, PASSWORD_LENGTH);
}

/** 32 bytes in URL-safe base64 with padding: a Fernet key. */
function fernetKey(randomBytes: (size: number) => Uint8Array): string {
  return Buffer.from(randomBytes(32)).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}
