import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import { OPERATOR } from '../../../constructs/install/identity.js';
import { CliError, type Outcome, type Run } from '../../arguments/command.js';
import { connected } from '../../kube/connect.js';
import { apiGroupOf } from '../render/run.js';
import { Archive } from './archive.js';
import { Collector } from './collector.js';
import { Redaction } from './redaction.js';

const SUFFIX = /\.(tar\.gz|tgz)$/;

export const reportCommand: Run = (args, io) => {
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const path = args.text('output') ?? `app-operator-report-${time}.tar.gz`;
  const apiGroup = apiGroupOf(args) ?? DEFAULT_API_GROUP;
  return connected(args, io, async ({ client, namespace }): Promise<Outcome> => {
    const redaction = new Redaction();
    try {
      await Archive.write(path, basename(path).replace(SUFFIX, ''), (archive) =>
        new Collector({
          client,
          signal: io.signal,
          archive,
          redaction,
          apiGroup,
          namespace: args.has('all-namespaces') ? undefined : namespace,
          operatorNamespace: args.text('operator-namespace') ?? OPERATOR.namespace,
          onStep: (step) => io.notify(`report: ${step}`),
        }).collect(),
      );
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST')
        throw new CliError(`${path}: is there already: name another file with -o`);
      if (code === 'ENOENT' || code === 'EACCES')
        throw new CliError(`${path}: cannot be written (${code})`);
      throw error;
    }
    const size = Math.ceil(statSync(path).size / 1024);
    return {
      out: `${path}\n`,
      err: [
        `report: ${size} KiB, ${redaction.count} values redacted. Look into it before you give it away.`,
      ],
      code: 0,
    };
  });
};
