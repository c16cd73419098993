import { VERSION } from '../../../runner/version.js';
import type { Run } from '../../arguments/command.js';
import { policyFrom } from '../../arguments/shared-flags.js';
import { UsageError } from '../../arguments/errors.js';
import type { INSTALL_FLAGS } from './flags.js';
import { installManifest } from './manifest.js';

export const runInstall: Run<typeof INSTALL_FLAGS> = ({ values }) => {
  const { image, replicas, namespaces: watchNamespaces, namespaced = false } = values;
  if (namespaced && !watchNamespaces?.length) {
    throw new UsageError(
      '--namespaced needs --namespaces NAMES: the operator has no rights elsewhere',
    );
  }
  const apiGroup = values['api-group'];
  const out = installManifest({
    version: VERSION,
    namespaced,
    policy: policyFrom(values),
    platformIds: values['platform-ids'] ?? false,
    limitEgress: values['limit-egress'] ?? false,
    ...(values['no-webhooks'] ? { webhooks: false } : {}),
    ...(image === undefined ? {} : { image }),
    ...(replicas === undefined ? {} : { replicas }),
    ...(watchNamespaces === undefined ? {} : { watchNamespaces }),
    ...(apiGroup === undefined ? {} : { apiGroup }),
  });
  return { out, code: 0 };
};
