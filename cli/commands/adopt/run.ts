import { isForbidden } from '../../../runner/api/api-error.js';
import type { Run } from '../../arguments/command.js';
import { CliError, UsageError } from '../../arguments/errors.js';
import { connected } from '../../kube/connect.js';
import { serverMessageOf } from '../../kube/errors.js';
import { adoptionOf } from './adoption.js';
import type { ADOPT_FLAGS } from './flags.js';
import { tableOf, yamlOf } from './output.js';
import { readClaim, readLive, readRelease } from './release.js';

const RELEASE = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

export const runAdopt: Run<typeof ADOPT_FLAGS> = ({ values }, io) => {
  const { release: name, site, bench: benchName, output } = values;
  if (name === undefined)
    throw new UsageError('--release NAME is missing: "helm list" lists releases');
  if (!RELEASE.test(name) || name.length > 53) {
    throw new UsageError(
      `--release: got ${JSON.stringify(name)}, allowed: the name of a Helm release`,
    );
  }
  if (values['dry-run'] === false) {
    throw new UsageError('--dry-run=false: the command changes nothing; apply what -o yaml prints');
  }
  return connected(values, io, async ({ client, namespace }) => {
    try {
      const release = await readRelease(client, namespace, name);
      const adoption = await adoptionOf({
        release,
        live: await readLive(client, release),
        accessModes: (claim) => readClaim(client, namespace, claim),
        named: site,
        benchName,
      });
      const print = output === 'yaml' ? yamlOf : tableOf;
      return { out: print(adoption, io.program), code: 0 };
    } catch (error) {
      if (!isForbidden(error)) throw error;
      throw new CliError(
        `forbidden: ${serverMessageOf(error)}; adopt reads Secrets, Deployments, Jobs and PersistentVolumeClaims`,
      );
    }
  });
};
