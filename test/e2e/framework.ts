import { VERSIONS } from '../../testbed/stand-in/image.js';

/** Tags of the framework's images, by major version. */
const BY_VERSION = {
  15: { bench: VERSIONS.first, from: VERSIONS.first, to: VERSIONS.second },
  16: { bench: VERSIONS.next, from: VERSIONS.first, to: VERSIONS.next },
} as const;

export type FrappeVersion = keyof typeof BY_VERSION;

/** The major version of the framework that the tests run: `FRAPPE_VERSION`, 15 by default. */
export const FRAPPE_VERSION = frappeVersion(process.env.FRAPPE_VERSION ?? '15');

/**
 * Tags of `frappe/erpnext` that the node has: of a bench, and of the two ends of an upgrade whose
 * patches change the schema. For version 16 that is the upgrade from 15.
 */
export const TAGS = BY_VERSION[FRAPPE_VERSION];

export function frappeVersion(text: string): FrappeVersion {
  const versions = Object.keys(BY_VERSION);
  if (versions.includes(text)) return Number(text) as FrappeVersion;
  throw new Error(`FRAPPE_VERSION: ${JSON.stringify(text)}: must be ${versions.join(' or ')}`);
}
