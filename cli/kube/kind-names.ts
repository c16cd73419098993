import { API_VERSION, DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { UsageError } from '../arguments/errors.js';

/** The resources that the arguments name. Without a kind: all. */
export interface Selection {
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
}

/** The kinds that a command accepts, and their API group. */
export interface KnownKinds {
  /** @default DEFINITIONS */
  readonly definitions?: typeof DEFINITIONS | undefined;
  /** @default DEFAULT_API_GROUP */
  readonly apiGroup?: string | undefined;
}

/** `bench`, `site/shop` or `site shop`. @throws UsageError */
export function selectionOf(
  [first, second, ...rest]: readonly string[],
  known: KnownKinds = {},
): Selection {
  if (first === undefined) return {};
  const [kindName = '', inline, ...more] = first.split('/');
  const name = inline ?? second;
  const isTwice = inline !== undefined && second !== undefined;
  if (isTwice) throw new UsageError(`${first} ${second}: expected one resource, such as site/shop`);
  if (rest.length + more.length > 0 || name === '')
    throw new UsageError(`${JSON.stringify(first)}: expected KIND or KIND/NAME, such as site/shop`);
  const kind = kindOf(kindName, known);
  if (kind !== undefined) return { kind, name };
  throw unknownKind(kindName, known);
}

/**
 * The kind with a name: any name of kubectl, also with the group, such as `appsite.app-operator.io`, and with
 * version and group; or the name without its prefix: `bench`, `site`, `user`.
 */
export function kindOf(
  name: string,
  { definitions = DEFINITIONS, apiGroup = DEFAULT_API_GROUP }: KnownKinds = {},
): string | undefined {
  const [resource = '', suffix] = splitAtDot(name.toLowerCase());
  if (suffix !== undefined && !isGroup(suffix, apiGroup)) return undefined;
  return definitions.find(({ singular, plural, shortNames }) => {
    const short = shortNameOf(singular);
    return [singular, plural, ...shortNames, short, shortNameOf(plural), `${short}es`].includes(
      resource,
    );
  })?.kind;
}

/** `bench` for `appbench`, `user` for `siteuser`. */
export function shortNameOf(name: string): string {
  return name.replace(/^(app|site)/, '');
}

function unknownKind(
  name: string,
  { definitions = DEFINITIONS, apiGroup }: KnownKinds,
): UsageError {
  const [resource = ''] = splitAtDot(name);
  if (kindOf(resource, { definitions, apiGroup }) !== undefined) {
    const group = `${API_VERSION}.${apiGroup ?? DEFAULT_API_GROUP}`;
    return new UsageError(
      `unknown kind ${JSON.stringify(name)}: version and group are ${group}; for another group, use --api-group`,
    );
  }
  const allowed = definitions.map(({ singular }) => shortNameOf(singular)).join(', ');
  return new UsageError(`unknown kind ${JSON.stringify(name)}, allowed: ${allowed}`);
}

/** As kubectl, it accepts the beginning of a group. */
function isGroup(suffix: string, apiGroup: string): boolean {
  const version = `${API_VERSION}.`;
  const group = suffix.startsWith(version) ? suffix.slice(version.length) : suffix;
  return apiGroup.startsWith(group);
}

function splitAtDot(name: string): readonly string[] {
  const dot = name.indexOf('.');
  return dot < 0 ? [name] : [name.slice(0, dot), name.slice(dot + 1)];
}
