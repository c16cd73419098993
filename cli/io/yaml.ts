import { stringify } from 'yaml';

/**
 * Objects as a stream of YAML documents, the same text for the same objects. What a reader of YAML 1.1,
 * such as kubectl, would take for something else than text (`on`, `010`, `1:30`) is quoted.
 */
export function toYaml(objects: readonly object[]): string {
  return objects
    .map((object) =>
      stringify(object, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false }),
    )
    .join('---\n');
}
