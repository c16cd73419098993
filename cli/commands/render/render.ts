import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import { nameOf } from '../../../constructs/preview/manifest-error.js';
import { preview, type PreviewOptions } from '../../../constructs/preview/preview.js';
import type { ManifestObject, Manifests } from '../../io/manifest-files.js';
import { toYaml } from '../../io/yaml.js';

/** The result of `app-operator render`. */
export interface Rendering {
  /** The children of the resources, as YAML documents; empty when there are problems. */
  readonly text: string;
  /** What is wrong, one line each: `file:line: kind/name: path: message`. */
  readonly problems: readonly string[];
  /** Skipped objects, one line each. */
  readonly notes: readonly string[];
}

/** Renders every child of the resources in manifest files. */
export function render(input: Manifests, options: PreviewOptions): Rendering {
  const byObject = new Map<object, ManifestObject>(
    input.objects.map((manifest) => [manifest.object, manifest]),
  );
  const result = preview([...byObject.keys()], options);
  const place = (object: object, path?: string): string =>
    `${byObject.get(object)?.at(path) ?? ''}: ${nameOf(object)}`;
  const problems = [
    ...input.problems,
    ...result.problems.map(
      ({ object, path, message }) => `${place(object, path)}: ${path}: ${message}`,
    ),
  ];
  // A wrong path or API group would go unnoticed in an empty output.
  if (result.objects.length === 0 && problems.length === 0) {
    const group = options.apiGroup ?? DEFAULT_API_GROUP;
    problems.push(`nothing to render: no resource of ${group} in the input`);
  }
  return {
    text: problems.length > 0 ? '' : toYaml(result.objects),
    problems,
    notes: result.skipped.map(({ object, message }) => `${place(object)}: ${message}`),
  };
}
