import { nameOf } from '../../../constructs/preview/manifest-error.js';
import { preview, type PreviewOptions } from '../../../constructs/preview/preview.js';
import type { Source, Sources } from '../../io/manifest-files.js';
import { toYaml } from '../../io/yaml.js';

/** What `app-operator render` has to say. */
export interface Rendering {
  /** The graph, as YAML documents; empty where there are problems. */
  readonly text: string;
  /** What is wrong, each in a line: `file:line: kind/name: path: message`. */
  readonly problems: readonly string[];
  /** What was passed over, each in a line. */
  readonly notes: readonly string[];
}

/** Most likely a wrong path or API group, which nobody would notice in an empty output. */
const NOTHING = 'nothing to render: there is no AppBench or AppSite in the input';

/** Renders what files hold: the complete graph of every bench and site, or what is wrong. */
export function render(input: Sources, options: PreviewOptions): Rendering {
  const { sources } = input;
  const byObject = new Map<object, Source>(sources.map((source) => [source.object, source]));
  const result = preview([...byObject.keys()], options);
  const place = (object: object, path?: string): string =>
    `${byObject.get(object)?.at(path) ?? ''}: ${nameOf(object)}`;
  const problems = [
    ...input.problems,
    ...result.problems.map(
      ({ object, path, message }) => `${place(object, path)}: ${path}: ${message}`,
    ),
  ];
  if (result.objects.length === 0 && problems.length === 0) problems.push(NOTHING);
  return {
    text: problems.length > 0 ? '' : toYaml(result.objects),
    problems,
    notes: result.skipped.map(({ object, message }) => `${place(object)}: ${message}`),
  };
}
