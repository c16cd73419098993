import type { Construct } from 'constructs';
import { TriggerAuthentication } from '../../../imports/keda.sh.js';

export interface RedisLoginProps {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly password: { readonly secret: string; readonly key: string };
}

/** The TriggerAuthentication with which KEDA logs in to Redis. */
export class RedisLogin extends TriggerAuthentication {
  constructor(scope: Construct, id: string, { password, ...metadata }: RedisLoginProps) {
    super(scope, id, {
      metadata: { ...metadata, labels: { ...metadata.labels } },
      spec: {
        secretTargetRef: [{ parameter: 'password', name: password.secret, key: password.key }],
      },
    });
  }
}
