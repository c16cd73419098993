import type { NameRef } from '../kit/api.js';
import type { Resource } from '../kit/object.js';
import type {
  DocumentName,
  DocumentScoped,
  DocumentStatus,
  Email,
  Line,
  PasswordRef,
  TimeZone,
} from './site-scoped.js';

/** A user of a site. */
export type SiteUser = Resource<SiteUserSpec, SiteUserStatus>;

/** What the user should be.
 * @cel !(has(self.roles) && has(self.roleProfile)) ;; roleProfile replaces a user's roles: give one of them */
export interface SiteUserSpec extends DocumentScoped {
  /** E-mail address: the name of the user in the site.
   * @cel self == oldSelf ;; email is immutable: it is the user's name in the site */
  readonly email: Email;
  /** First name. */
  readonly firstName: Line;
  /** Last name. */
  readonly lastName?: Line;
  /** A further name to log in with.
   * @minLength 1
   * @maxLength 140
   * @pattern ^[A-Za-z0-9][A-Za-z0-9._@-]*$ */
  readonly username?: string;
  /** Whether the user can log in.
   * @default true */
  readonly enabled: boolean;
  /** Roles: these and no others. Roles are not managed when not given.
   * @maxItems 200
   * @listType set */
  readonly roles?: readonly DocumentName[];
  /** Role profile, which gives the user its roles. */
  readonly roleProfile?: DocumentName;
  /** Module profile, which hides modules from the user. */
  readonly moduleProfile?: DocumentName;
  /** Workspace that the desk opens with, by its name in the site, from version-15 on. */
  readonly defaultWorkspace?: DocumentName;
  /** Language of the desk, such as `en` or `pt-BR`.
   * @maxLength 16
   * @pattern ^[a-z]{2,3}([-_][A-Za-z0-9]{2,4})?$ */
  readonly language?: string;
  /** Time zone of the desk. */
  readonly timeZone?: TimeZone;
  /** Secret with the password. When it changes, so does the password, and the user's sessions end. */
  readonly passwordSecretRef?: PasswordRef;
  /** Secret that the operator writes the user's API key and secret to, under `api-key` and `api-secret`. They are made once and never rotated. */
  readonly apiKeySecretRef?: NameRef;
  /** Whether the framework sends its welcome mail when the user is created.
   * @default false */
  readonly sendWelcomeEmail: boolean;
  /** What happens to the user when the object is deleted.
   * @default Disable */
  readonly deletionPolicy: 'Disable' | 'Delete' | 'Retain';
}

/** What the user is. */
export interface SiteUserStatus extends DocumentStatus {
  /** Whether the user can log in. */
  readonly enabled?: boolean;
  /** Hash of what the password that was set last was made of: its Secret's version, the key, and the data of the site. */
  readonly passwordVersion?: string;
  /** Secret with the API key and secret, once they are written. */
  readonly apiKeySecret?: string;
}
