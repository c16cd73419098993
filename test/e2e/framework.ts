/**
 * The image of the framework that the tests run: the stand-in's, or the one of `FRAMEWORK_IMAGE`, an
 * archive with the contract of `frappe/erpnext`. Tests that need more than this contract say so with
 * `standInOnly`.
 */
import { execFileSync } from 'node:child_process';
import path from 'node:path';

import { VERSIONS } from '../../testbed/stand-in/image.js';

/** Tags of the framework's images, by major version. */
const BY_VERSION = {
  15: { bench: VERSIONS.first, from: VERSIONS.first, to: VERSIONS.second },
  16: { bench: VERSIONS.next, from: VERSIONS.first, to: VERSIONS.next },
} as const;

export type FrappeVersion = keyof typeof BY_VERSION;

/** The major version of the framework that the tests run: `FRAPPE_VERSION`, 15 by default. */
export const FRAPPE_VERSION = frappeVersion(process.env.FRAPPE_VERSION ?? '15');

/** Between the site and the id of a job: `create_job_id` of `frappe.utils.background_jobs`. */
export const JOB_ID_SEPARATOR = FRAPPE_VERSION >= 16 ? '||' : '::';

/** Annotation of an image in `index.json` of an archive: its name. */
const NAME = 'io.containerd.image.name';

/** Path of the archive; undefined for the stand-in. */
export const FRAMEWORK_IMAGE =
  process.env.FRAMEWORK_IMAGE && path.resolve(process.env.FRAMEWORK_IMAGE);

/**
 * Tags of `frappe/erpnext` that the node has: of a bench, and of the two ends of an upgrade whose
 * patches change the schema. For version 16 that is the upgrade from 15.
 */
export const TAGS = FRAMEWORK_IMAGE ? tagsOf(FRAMEWORK_IMAGE) : BY_VERSION[FRAPPE_VERSION];

/** In place of `version-15` of the examples. */
export const EXAMPLES_VERSION = FRAMEWORK_IMAGE ? TAGS.bench : `version-${FRAPPE_VERSION}`;

interface Tags {
  readonly bench: string;
  readonly from: string;
  readonly to: string;
}

/** An option of a test: the reason to skip it on another image. @param what what the test needs */
export function standInOnly(what: string): string | false {
  return FRAMEWORK_IMAGE ? `needs ${what}, which only the stand-in has` : false;
}

/** Path of a method for tests, which only the stand-in has. */
export function standInMethod(name: string): string {
  if (FRAMEWORK_IMAGE) throw new Error(`${name}: mark the test with standInOnly`);
  return `/api/method/frappe.tests.e2e.${name}`;
}

/** The tag of an archive, which has one. */
function tagsOf(archive: string): Tags {
  const index = fileIn(archive, 'index.json');
  const tag = tagIn(index?.includes(NAME) ? index : (fileIn(archive, 'manifest.json') ?? '[]'));
  return { bench: tag, from: tag, to: tag };
}

function fileIn(archive: string, name: string): string | undefined {
  try {
    return execFileSync('tar', ['-xOf', archive, name], { encoding: 'utf8', stdio: 'pipe' });
  } catch {
    return undefined;
  }
}

interface OciIndex {
  readonly manifests: readonly { readonly annotations?: Readonly<Record<string, string>> }[];
}
type DockerManifest = readonly { readonly RepoTags?: readonly string[] | null }[];

/** @param text `index.json` of an OCI archive, or `manifest.json` of an older `docker save` */
export function tagIn(text: string): string {
  const content = JSON.parse(text) as OciIndex | DockerManifest;
  const names =
    'manifests' in content
      ? content.manifests.flatMap(({ annotations }) => annotations?.[NAME] ?? [])
      : content.flatMap(({ RepoTags }) => RepoTags ?? []);
  const [, tag] = /^(?:docker[.]io[/])?frappe[/]erpnext:([\w.-]+)$/.exec(names[0] ?? '') ?? [];
  if (names.length === 1 && tag !== undefined) return tag;
  const found = names.length === 0 ? 'it has none' : names.join(', ');
  throw new Error(
    `FRAMEWORK_IMAGE: the archive must have one name, frappe/erpnext:<tag>: ${found}`,
  );
}

export function frappeVersion(text: string): FrappeVersion {
  const versions = Object.keys(BY_VERSION);
  if (versions.includes(text)) return Number(text) as FrappeVersion;
  throw new Error(`FRAPPE_VERSION: ${JSON.stringify(text)}: must be ${versions.join(' or ')}`);
}
