import type { Run } from '../../arguments/command.js';
import { UsageError } from '../../arguments/errors.js';
import { settingsOf } from '../../arguments/shared-flags.js';
import { readManifests } from '../../io/manifest-files.js';
import type { RENDER_FLAGS } from './flags.js';
import { integrationNames, optionalApisOf } from './optional-apis.js';
import { render } from './render.js';

export const runRender: Run<typeof RENDER_FLAGS> = ({ values }, { env }) => {
  const { filename: files, recursive = false, serves } = values;
  if (files.length === 0) throw new UsageError('render needs -f FILE, -f FOLDER or -f -');
  const { text, problems, notes } = render(readManifests(files, recursive), {
    apiGroup: values['api-group'],
    settings: settingsOf(values, env),
    serves: serves && servedApis(serves),
  });
  return { out: text, err: [...notes, ...problems], code: problems.length > 0 ? 1 : 0 };
};

/** @throws UsageError for an unknown integration */
function servedApis(names: readonly string[]): readonly string[] {
  const known = integrationNames();
  if (names.every((name) => known.includes(name)))
    return names.flatMap((name) => optionalApisOf(name));
  throw new UsageError(
    `--serves: got ${JSON.stringify(names.join(','))}, allowed: ${known.join(', ')}, separated by commas`,
  );
}
