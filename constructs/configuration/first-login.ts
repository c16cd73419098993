import type { KeyRef } from '../kit/api.js';
import type { Problem } from '../kit/errors.js';
import { canonicalJson } from '../kit/json/hash.js';
import type { ObjectReference } from '../kit/reference.js';
import type { AppSite, SiteSetup, SiteSocialLogin } from '../api/site.js';
import { generatedSecrets, isNamed } from './ignored.js';

/** The answers of the setup wizard, and the identity providers, that a site declares. */
export interface FirstLogin {
  readonly setup?: SiteSetup;
  /** Undefined where the site declares none, and none is to be deleted. */
  readonly sso?: readonly SiteSocialLogin[];
}

/** The app whose part of the wizard creates the first company. */
const ERPNEXT = 'erpnext';

/** A value of a Secret that a provider names. */
export interface LoginFile {
  readonly field: 'clientID' | 'clientSecret';
  /** Its name below the folder of values. */
  readonly file: string;
  /** See `loginValue`. */
  readonly value: string;
  readonly path: string;
  readonly reference: KeyRef;
}

/** What the site declares; undefined where it declares nothing, and never did. */
export function firstLoginOf({ spec, status }: AppSite): FirstLogin | undefined {
  const { setup } = spec;
  const sso = usableLogins(spec.sso);
  const has = sso.length > 0 || (status?.socialLogins ?? []).length > 0;
  if (!setup && !has) return undefined;
  // In one order of keys, as all that is synthesized.
  const declared = { ...(setup ? { setup } : {}), ...(has ? { sso } : {}) };
  return JSON.parse(canonicalJson(declared)) as FirstLogin;
}

/** Names a value of a provider. No key of `siteConfig` has a slash. */
function loginValue(provider: string, field: LoginFile['field']): string {
  return `sso/${provider}/${field}`;
}

/** The keys of Secrets that the identity providers name. */
export function loginFiles(sso: readonly SiteSocialLogin[] = []): readonly LoginFile[] {
  return sso.flatMap(filesOf);
}

function filesOf(login: SiteSocialLogin, index: number): readonly LoginFile[] {
  return (['clientID', 'clientSecret'] as const).flatMap((field) => {
    const reference = login[field].secretKeyRef;
    if (!reference) return [];
    const path = `spec.sso[${index}].${field}.secretKeyRef`;
    const value = loginValue(login.provider, field);
    return [{ field, file: `sso-${index}-${field}`, value, path, reference }];
  });
}

/**
 * The Secrets that the identity providers name.
 * @param all those of the spec, where some of them are left out
 */
export function loginReferences(
  sso: readonly SiteSocialLogin[] = [],
  all: readonly SiteSocialLogin[] = sso,
): readonly (ObjectReference & { readonly kind: 'Secret'; readonly value: string })[] {
  return sso.flatMap((login) => {
    const index = all.findIndex(({ provider }) => provider === login.provider);
    return filesOf(login, index).map(({ value, path, reference }) => ({
      kind: 'Secret' as const,
      name: reference.name,
      value,
      path: `${path}.name`,
    }));
  });
}

/** The name that the framework gives to the Social Login Key of a provider. */
function loginName(provider: string): string {
  return provider.replaceAll(/[ -]/g, '_').toLowerCase();
}

/** Providers that a schema cannot refuse, and that are left out. */
export function ignoredLogins(sso: readonly SiteSocialLogin[] = []): readonly Problem[] {
  const names = sso.map(({ provider }) => loginName(provider));
  return sso.flatMap((login, index): readonly Problem[] => {
    const first = names.indexOf(names[index] ?? '');
    if (first === index) return generatedSecrets(loginReferences([login], sso));
    const message = `has no effect: the site names the Social Login Key of "${login.provider}" as that of "${sso[first]?.provider ?? ''}": ${names[index] ?? ''}`;
    return [{ path: `spec.sso[${index}].provider`, message }];
  });
}

function usableLogins(sso: readonly SiteSocialLogin[] = []): readonly SiteSocialLogin[] {
  const ignored = ignoredLogins(sso);
  return sso.filter((_, index) => !isNamed(ignored, `spec.sso[${index}]`));
}

/** What a schema cannot find: the wizard cannot be completed. */
export function setupProblems({ setup }: FirstLogin, apps: readonly string[]): readonly Problem[] {
  if (!setup || setup.company || !apps.includes(ERPNEXT)) return [];
  const message = 'Required value: ERPNext is one of the apps of the site, and needs a company';
  return [{ path: 'spec.setup.company', message }];
}

/**
 * A provider as the script reads it: no value of a Secret.
 * @param missing what the script gets in place of the file of a value that does not exist
 */
export function loginContent(
  login: SiteSocialLogin,
  index: number,
  missing: (value: string) => unknown = () => undefined,
): unknown {
  const { clientID, clientSecret: _clientSecret, ...rest } = login;
  const files = filesOf(login, index).map(({ field, file, value, reference }) => [
    field,
    missing(value) ?? {
      file,
      from: `key "${reference.key}" of Secret "${reference.name}"`,
    },
  ]);
  const values = clientID.value === undefined ? {} : { clientID: clientID.value };
  return { ...rest, ...values, files: Object.fromEntries(files) as unknown };
}
