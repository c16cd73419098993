import { defined } from '../../constructs/kit/defined.js';
import type { PodSecurityLevel, TenantPolicy } from '../../constructs/kit/tenant-policy.js';
import { oneOf } from './parsers.js';

export const podSecurityLevel = oneOf<PodSecurityLevel>({
  restricted: 'restricted',
  baseline: 'baseline',
  privileged: 'privileged',
});

/** The values of the flags of a policy; undefined ones are not given. */
export interface PolicyValues {
  readonly 'allowed-service-accounts'?: readonly string[] | undefined;
  readonly 'allowed-ingress-annotations'?: readonly string[] | undefined;
  readonly 'allowed-image-prefixes'?: readonly string[] | undefined;
  readonly 'pod-security-level'?: PodSecurityLevel | undefined;
  readonly 'shared-hosts'?: boolean | undefined;
}

/** The policy of the given flags. */
export function policyFrom(values: PolicyValues): Partial<TenantPolicy> {
  const given: Readonly<Record<keyof TenantPolicy, unknown>> = {
    allowedServiceAccounts: values['allowed-service-accounts'],
    allowedIngressAnnotations: values['allowed-ingress-annotations'],
    allowedImagePrefixes: values['allowed-image-prefixes'],
    podSecurityLevel: values['pod-security-level'],
    sharedHosts: values['shared-hosts'],
  };
  return defined(given) as Partial<TenantPolicy>;
}
