import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { type KeyPair, selfSigned } from './certificate.js';

/** The source of a server's certificate. */
export interface KeyPairSource {
  /** The present certificate; the same object until it changes. */
  current(): Promise<KeyPair>;
}

const DAY_MS = 24 * 3_600_000;
const VALID_MS = 365 * DAY_MS;
/** Replaced with a third of its life left, so that it does not expire during an outage. */
const ROTATE_MS = (VALID_MS * 2) / 3;
/** Other clocks may be behind. */
const SKEW_MS = DAY_MS;

/**
 * A self-signed certificate, replaced in time.
 * @param now milliseconds since the epoch
 */
export function selfSignedSource(
  commonName: string,
  hosts: readonly string[],
  now: () => number = Date.now,
): KeyPairSource {
  let pair: KeyPair | undefined;
  let madeAt = 0;
  return {
    current: () => {
      if (!pair || now() - madeAt >= ROTATE_MS) {
        madeAt = now();
        pair = selfSigned({
          commonName,
          hosts,
          notBefore: new Date(madeAt - SKEW_MS),
          notAfter: new Date(madeAt + VALID_MS),
        });
      }
      return Promise.resolve(pair);
    },
  };
}

/**
 * The certificate in `tls.crt` and `tls.key` of a folder. A certificate that does not fit its key, as in
 * the middle of a change, is an error; a mounted Secret changes both at once.
 */
export function mountedSource(folder: string): KeyPairSource {
  let pair: KeyPair | undefined;
  return {
    current: async () => {
      const [cert, key] = await Promise.all([
        readFile(`${folder}/tls.crt`, 'utf8'),
        readFile(`${folder}/tls.key`, 'utf8'),
      ]);
      if (pair?.cert === cert && pair.key === key) return pair;
      createSecureContext({ cert, key });
      pair = { cert, key };
      return pair;
    },
  };
}
