import { defined } from '../../kit/json/defined.js';
import type { SiteDocument } from '../../kit/document.js';
import type { SiteUser } from '../../api/user.js';

export const DOCTYPE = 'User';
/** Keys of the Secret that the user's API key stands in. */
export const API_KEYS = { key: 'api-key', secret: 'api-secret' } as const;

/**
 * The user as the framework stores it.
 * @param setPassword whether the password of an existing user is set: only when it has changed
 */
export function userDocument({ spec }: SiteUser, setPassword: boolean): SiteDocument {
  const { passwordSecretRef: password, apiKeySecretRef: apiKey, defaultWorkspace } = spec;
  return {
    doctype: DOCTYPE,
    name: spec.email,
    state: 'present',
    fields: defined({
      email: spec.email,
      first_name: spec.firstName,
      last_name: spec.lastName,
      username: spec.username,
      enabled: spec.enabled,
      language: spec.language,
      time_zone: spec.timeZone,
      role_profile: spec.roleProfile,
      module_profile: spec.moduleProfile,
      default_workspace: spec.defaultWorkspace,
      send_welcome_email: spec.sendWelcomeEmail,
    }),
    json: {},
    tables: spec.roles ? { roles: spec.roles.toSorted().map((role) => ({ role })) } : {},
    secrets: {
      ...(password ? { password: { secret: password.name, key: password.key } } : {}),
      ...(apiKey
        ? {
            api_key: { secret: apiKey.name, key: API_KEYS.key },
            api_secret: { secret: apiKey.name, key: API_KEYS.secret },
          }
        : {}),
    },
    ...(password && !setPassword ? { secretsWhenNew: ['password'] } : {}),
    needs: defaultWorkspace ? [{ doctype: 'Workspace', name: defaultWorkspace }] : [],
  };
}
