import type { IgnoredApps } from '../api/bench.js';
import type { AppRef } from '../kit/api.js';
import type { Problem } from '../kit/errors.js';
import { hashOf } from '../kit/json/hash.js';

const APP_NAME = /^[a-z][a-z0-9_]{0,63}$/;

type AppsField = IgnoredApps['field'];

interface AppsSpec {
  readonly apps?: readonly AppRef[];
  readonly appsJSON?: string;
}

/** A bench, as far as its applications are decided by it. */
export interface AppsSource {
  readonly spec: AppsSpec;
  readonly status?: {
    readonly apps?: readonly string[];
    readonly ignoredApps?: IgnoredApps;
  };
}

/** What a bench says about its applications. */
export interface ResolvedApps {
  readonly apps: readonly string[];
  readonly problems: readonly Problem[];
  /** The list without effect; undefined where the spec has one list at most. */
  readonly ignored?: IgnoredApps;
}

/**
 * The applications of a bench: `apps` and `appsJSON` are two spellings of one list. Where a patch adds
 * one to the other, the newer one counts. The schema refuses two new lists that differ.
 */
export function resolveApps(bench: AppsSource): ResolvedApps {
  const { spec } = bench;
  const field = ignoredField(bench);
  if (field === undefined) return listed(spec);
  const { [field]: value, ...counts } = spec;
  return { ...listed(counts), ignored: { field, hash: hashOf(value) } };
}

/** The spec without the list that has no effect. */
export function withoutIgnoredApps<S extends AppsSpec>(
  bench: AppsSource & { readonly spec: S },
): S {
  const field = ignoredField(bench);
  if (field === undefined) return bench.spec;
  const { [field]: _ignored, ...spec } = bench.spec;
  return spec as S;
}

/** The warning about a list without effect. */
export function ignoredAppsProblem(bench: AppsSource): readonly Problem[] {
  const field = resolveApps(bench).ignored?.field;
  if (field === undefined) return [];
  const newer = otherField(field);
  const message = `has no effect: spec.${newer} was set later; remove it: {"spec":{"${field}":null}}`;
  return [{ path: `spec.${field}`, message }];
}

/** The older list of two; undefined for a spec with one at most. */
function ignoredField({ spec, status }: AppsSource): AppsField | undefined {
  const { apps, appsJSON } = spec;
  if (!apps || appsJSON === undefined) return undefined;
  const before = status?.ignoredApps;
  if (before) {
    const changed = hashOf(spec[before.field]) !== before.hash;
    return changed ? otherField(before.field) : before.field;
  }
  // One of them was added to the other, whose value is in the status.
  const isInEffect = (list: AppsSpec): boolean =>
    hashOf(listed(list).apps) === hashOf(status?.apps ?? null);
  return isInEffect({ appsJSON }) && !isInEffect({ apps }) ? 'appsJSON' : 'apps';
}

function otherField(field: AppsField): AppsField {
  return field === 'apps' ? 'appsJSON' : 'apps';
}

/** The applications of a spec with one list at most. */
function listed(spec: AppsSpec): ResolvedApps {
  if (spec.appsJSON === undefined)
    return { apps: spec.apps?.map((app) => app.name) ?? [], problems: [] };
  let parsed: unknown;
  try {
    parsed = JSON.parse(spec.appsJSON);
  } catch {
    return invalid(spec.appsJSON, 'is not JSON');
  }
  if (!Array.isArray(parsed)) return invalid(spec.appsJSON, 'is not a JSON array');
  const names: unknown[] = parsed;
  for (const name of names) {
    if (typeof name !== 'string' || !APP_NAME.test(name)) {
      return invalid(
        JSON.stringify(name),
        'is not the name of an application: lower-case letters, digits and underscores, beginning with a letter',
      );
    }
  }
  const apps = names as string[];
  const twice = apps.find((name, at) => apps.indexOf(name) !== at);
  return twice === undefined
    ? { apps, problems: [] }
    : invalid(JSON.stringify(twice), 'stands in the list twice');
}

function invalid(got: string, why: string) {
  const shown = got.length > 80 ? `${got.slice(0, 80)}…` : got;
  return fail(
    'spec.appsJSON',
    `Invalid value: ${shown}: ${why}; give a JSON array of application names, for example ["erpnext"]`,
  );
}

function fail(path: string, message: string) {
  return { apps: [], problems: [{ path, message }] };
}
