import type { Problem } from '../kit/errors.js';
import type { AppRef } from '../kit/api.js';

const APP_NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** The applications of a bench: `apps` and `appsJSON` are two spellings of one list. */
export function resolveApps(spec: {
  readonly apps?: readonly AppRef[];
  readonly appsJSON?: string;
}): { readonly apps: readonly string[]; readonly problems: readonly Problem[] } {
  if (spec.apps && spec.appsJSON !== undefined) {
    return fail('spec.apps', 'apps and appsJSON are two spellings of one list: give one of them');
  }
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
