import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import { nameOf } from '../../../constructs/preview/manifest-error.js';
import {
  preview,
  type ObjectNote,
  type Preview,
  type PreviewedResource,
  type PreviewOptions,
} from '../../../constructs/preview/preview.js';
import type { ManifestObject, Manifests } from '../../io/manifest-files.js';
import { templateAdvice } from '../../io/manifest-text.js';
import { toYaml } from '../../io/yaml.js';
import { missingFiles } from './missing-files.js';

/** The result of `app-operator render`. */
export interface Rendering {
  /** The children of the resources, as YAML documents; empty when there are problems. */
  readonly text: string;
  readonly resources: readonly PreviewedResource[];
  /** What is wrong, one line each: `file:line: kind/name: path: message`. */
  readonly problems: readonly string[];
  /** Skipped objects, warnings, and what has no objects or is left out, one line each. */
  readonly notes: readonly string[];
}

/** Renders every child of the resources in manifest files. */
export function render(input: Manifests, options: PreviewOptions): Rendering {
  const byObject = new Map<object, ManifestObject>(
    input.objects.map((manifest) => [manifest.object, manifest]),
  );
  const previewOf = ({ objects }: Manifests): Preview =>
    preview(
      objects.map(({ object }) => object),
      options,
    );
  const result = previewOf(input);
  const place = (object: object, path?: string): string =>
    `${byObject.get(object)?.at(path) ?? ''}: ${nameOf(object)}`;
  const problems = [
    ...input.problems,
    ...result.problems.map(({ object, path, message }) => {
      const advice = templateAdvice(valueAt(object, path));
      return [`${place(object, path)}: ${path}: ${message}`, advice].filter(Boolean).join('; ');
    }),
  ];
  // A wrong path or API group would go unnoticed in an empty output.
  if (result.objects.length === 0 && problems.length === 0) {
    const group = options.apiGroup ?? DEFAULT_API_GROUP;
    problems.push(`nothing to render: no resource of ${group} in the input`);
  }
  const files = result.problems.some(({ missing }) => missing)
    ? missingFiles(input, previewOf)
    : [];
  if (files.length > 0)
    problems.push(`found beside the input: add ${files.map((file) => `-f ${file}`).join(' ')}`);
  return {
    text: problems.length > 0 ? '' : toYaml(result.objects),
    resources: result.resources,
    problems,
    notes: [...result.skipped, ...result.notes].map(
      ({ object, path, message }: ObjectNote) => `${place(object, path)}: ${message}`,
    ),
  };
}

/** The value of a path such as `spec.apps[0].name`. */
function valueAt(object: object, path: string): unknown {
  let value: unknown = object;
  for (const step of path.match(/[^.[\]]+/g) ?? [])
    value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[step];
  return value;
}
