import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { OPERATOR } from '../../../constructs/kit/operator-identity.js';
import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import type { Outcome, Run } from '../../arguments/command.js';
import { CliError } from '../../arguments/errors.js';
import { fileErrorReason, isFileError } from '../../io/file-error.js';
import { connected } from '../../kube/connect.js';
import { Archive } from './archive.js';
import { Collector } from './collector.js';
import type { REPORT_FLAGS } from './flags.js';
import { Redaction } from './redaction.js';

const SUFFIX = /\.(tar\.gz|tgz)$/;

export const runReport: Run<typeof REPORT_FLAGS> = ({ values }, io) => {
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const path = values.output ?? `app-operator-report-${time}.tar.gz`;
  return connected(values, io, async ({ client, namespace }): Promise<Outcome> => {
    const redaction = new Redaction();
    let failed = false;
    let omissions: readonly string[] = [];
    try {
      await Archive.write(path, basename(path).replace(SUFFIX, ''), async (archive) => {
        const omitted = await new Collector({
          client,
          signal: io.signal,
          archive,
          redaction,
          apiGroup: values['api-group'] ?? DEFAULT_API_GROUP,
          namespace: values['all-namespaces'] ? undefined : namespace,
          operatorNamespace: values['operator-namespace'] ?? OPERATOR.namespace,
          onStep: (step) => {
            if (!failed) io.notify(`report: ${step}`);
          },
        }).collect();
        omissions = omitted.lines();
      });
    } catch (error) {
      failed = true;
      throw fileError(path, error);
    }
    const size = Math.ceil(statSync(path).size / 1024);
    return {
      out: `${path}\n`,
      err: [
        ...omissions.map((line) => `report: ${line}`),
        `report: ${size} KiB, ${redaction.count} values redacted. Review it before sharing.`,
      ],
      code: 0,
    };
  });
};

function fileError(path: string, error: unknown): unknown {
  if (!isFileError(error)) return error;
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const problem = isFolder
    ? 'is a folder'
    : error.code === 'EEXIST'
      ? 'already exists'
      : `cannot be written: ${fileErrorReason(error)}`;
  return new CliError(`${path}: ${problem}; choose another file with -o`);
}
