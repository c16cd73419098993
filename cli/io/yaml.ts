import { stringify } from 'yaml';

/**
 * Objects as a stream of YAML documents: equal objects give equal text. Text that YAML 1.1, the version of
 * kubectl, would read as another type (`on`, `010`, `1:30`) is quoted.
 */
export function toYaml(objects: readonly object[]): string {
  return objects
    .map((object) =>
      stringify(object, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false }),
    )
    .join('---\n');
}
