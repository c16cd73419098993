import { messageOf } from '../../../constructs/kit/errors.js';
import type { Run } from '../../arguments/command.js';
import { UsageError } from '../../arguments/errors.js';
import { settingsOf } from '../../arguments/shared-flags.js';
import { readInput } from '../../io/manifest-files.js';
import type { RENDER_FLAGS } from './flags.js';
import { optionalApisOf } from './optional-apis.js';
import { render } from './render.js';

export const runRender: Run<typeof RENDER_FLAGS> = async ({ values }, io) => {
  const { filename: files, recursive = false, serves } = values;
  if (files.length === 0) throw new UsageError('render needs -f FILE, -f FOLDER or -f -');
  const input = await readInput(files, recursive, io);
  const { text, problems, notes } = render(input, {
    apiGroup: values['api-group'],
    settings: settingsOf(values, io.env),
    serves: serves && servedApis(serves),
  });
  return { out: text, err: [...notes, ...problems], code: problems.length > 0 ? 1 : 0 };
};

/** @throws UsageError for an unknown integration */
function servedApis(names: readonly string[]): readonly string[] {
  try {
    return optionalApisOf(names);
  } catch (error) {
    throw new UsageError(`--${messageOf(error)}`);
  }
}
