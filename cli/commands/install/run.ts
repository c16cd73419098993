import { defined } from '../../../constructs/kit/json/defined.js';
import { VERSION } from '../../../runner/kit/version.js';
import type { Run } from '../../arguments/command.js';
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
  const out = installManifest({
    version: VERSION,
    namespaced,
    platformIds: values['platform-ids'] ?? false,
    limitEgress: values['limit-egress'] ?? false,
    plainMetrics: values['plain-metrics'] ?? false,
    webhookClientCa: values['webhook-client-ca'],
    ...(values['no-webhooks'] ? { webhooks: false } : {}),
    ...(values['no-crds'] ? { crds: false } : {}),
    ...(values['no-policies'] ? { policies: false } : {}),
    ...defined({
      image,
      replicas,
      namespace: values.namespace,
      watchNamespaces,
      watchLabelSelector: values['label-selector'],
      apiGroup: values['api-group'],
      metricsNamespace: values['metrics-namespace'],
      kedaNamespace: values['keda-namespace'],
    }),
  });
  return { out, code: 0 };
};
