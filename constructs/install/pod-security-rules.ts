import type { PodFields } from '../kit/pod-fields.js';
import { BEFORE, keysWith, optional, repetition, SPEC, texts, variableName } from './cel.js';
import { limitRule, type LimitRule, limitText, NO_RULES } from './limit-rule.js';
import type { PolicyRules } from './policy.js';

/** The capabilities that a container may add, by Pod Security `restricted` and by `baseline`. */
const RESTRICTED = ['NET_BIND_SERVICE'];
// prettier-ignore
const BASELINE = [
  'AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD',
  'NET_BIND_SERVICE', 'SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT',
];
/** Annotations of pods with a security profile, by the beginning of their names. */
const PROFILES = [
  'container.apparmor.security.beta.kubernetes.io/',
  'container.seccomp.security.alpha.kubernetes.io/',
  'seccomp.security.alpha.kubernetes.io/',
];
/** Profiles that restrict a container. */
const SAFE_PROFILE = '^((runtime|docker)/default|localhost/.+)$';

/** The level, as an administrator writes it. Another word is no level: then `restricted` holds. */
const LEVEL = 'variables.podSecurityLevel';
const IS_RESTRICTED = `!(${LEVEL} in ['baseline', 'privileged'])`;
const WHAT = 'more than the Pod Security level of the key "podSecurityLevel" allows, by default "restricted"'; // prettier-ignore

/**
 * What Pod Security refuses of the fields that a spec can set, also in namespaces without its labels. The
 * schema and the list of fields of pod templates refuse the rest: the user 0, host paths, host namespaces,
 * privileged containers.
 */
export function podSecurityRules({ podSecurity }: PodFields): PolicyRules {
  if (!podSecurity) return NO_RULES;
  const { context, containers, annotations } = podSecurity;
  const rules = [
    ...(context === undefined ? [] : [contextRule(context)]),
    ...containers.map((path) => containerRule(path)),
    ...annotations.map((path) => annotationRule(path)),
  ];
  return {
    variables: [
      { name: 'podSecurityLevel', expression: `${limitText('podSecurityLevel')}.trim()` },
      {
        name: 'capabilities',
        expression: `${LEVEL} == 'baseline' ? ${texts(BASELINE)} : ${texts(RESTRICTED)}`,
      },
      ...rules.map(({ variable }) => variable),
    ],
    validations: rules.map(({ validation }) => validation),
  };
}

/** Of the containers of the operator: which of two fields is denied. */
function contextRule(path: string): LimitRule {
  const [now, before] = [optional(SPEC, path), optional(BEFORE, path)];
  const fields = ['allowPrivilegeEscalation', 'capabilities'];
  const isNew = `${now}[?f] != ${before}[?f]`;
  const denied = `f == 'capabilities' ? ${keepsCapabilities(now)} : ${mayEscalate(now)}`;
  const expression = `${texts(fields)}.filter(f, ${IS_RESTRICTED} && ${isNew} && (${denied}))`;
  return limitRule(nameOf(path), expression, { path: `spec.${path}`, what: WHAT });
}

/** Of a list of further containers: the templates that have a new one which is denied. */
function containerRule(path: string): LimitRule {
  const { head = '', tail = '' } = repetition(path) ?? {};
  const containers = (root: string): string =>
    `${optional(`${optional(root, head)}[?k]`, tail)}.orValue([])`;
  const security = 'c.?securityContext';
  const added = `${security}.?capabilities.?add.orValue([]).exists(a, !(a in variables.capabilities))`;
  const loose = `${IS_RESTRICTED} && (${mayEscalate(security)} || ${keepsCapabilities(security)})`;
  const denied = `!(c in ${containers(BEFORE)}) && (${added} || ${loose})`;
  const keys = keysWith(head, containers, 'c', denied);
  return unlessPrivileged(nameOf(path), keys, {
    path: `spec.${head}`,
    what: `${tail.replace('spec.', '')}: securityContext asks for ${WHAT}`,
  });
}

/** Annotations of pods, or of the pods of each template, with a profile that restricts nothing. */
function annotationRule(path: string): LimitRule {
  const found = repetition(path);
  const isDenied = (at: (root: string) => string, key: string): string =>
    `${texts(PROFILES)}.exists(p, ${key}.startsWith(p)) && ${at(SPEC)}[?${key}] != ${at(BEFORE)}[?${key}] && !${at(SPEC)}[?${key}].orValue('').matches('${SAFE_PROFILE}')`;
  if (!found) {
    const at = (root: string): string => optional(root, path);
    return unlessPrivileged(
      nameOf(path),
      `${at(SPEC)}.orValue({}).filter(a, ${isDenied(at, 'a')})`,
      {
        path: `spec.${path}`,
        what: WHAT,
      },
    );
  }
  const { head, tail } = found;
  const at = (root: string): string => optional(`${optional(root, head)}[?k]`, tail);
  const mapOf = (root: string): string => `${at(root)}.orValue({})`;
  const keys = keysWith(head, mapOf, 'a', isDenied(at, 'a'));
  return unlessPrivileged(nameOf(path), keys, {
    path: `spec.${head}`,
    what: `${tail} ask for ${WHAT}`,
  });
}

function unlessPrivileged(
  name: string,
  denied: string,
  refusal: { readonly path: string; readonly what: string },
): LimitRule {
  return limitRule(name, `${LEVEL} == 'privileged' ? [] : ${denied}`, refusal);
}

const mayEscalate = (security: string): string =>
  `${security}.?allowPrivilegeEscalation.orValue(false) != false`;
const keepsCapabilities = (security: string): string =>
  `!('ALL' in ${security}.?capabilities.?drop.orValue(['ALL']))`;

function nameOf(path: string): string {
  return `security_${variableName(path)}`;
}
