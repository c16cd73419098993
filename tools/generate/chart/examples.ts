import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KindDefinition } from '../../../constructs/kit/definition.js';
import type { KubeObject } from '../../../constructs/kit/object.js';

/**
 * The first example of each kind's page in `docs/spec/`: the test of the documents holds it to the schema.
 * @throws Error where a page has none
 */
export function examplesOf(root: string, definitions: readonly KindDefinition[]): KubeObject[] {
  return definitions.map(({ kind, singular }) => {
    const page = `docs/spec/${singular}.md`;
    const text = /^```yaml\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, page), 'utf8'))?.[1];
    const object = parseAllDocuments(text ?? '')
      .map((document) => document.toJS() as KubeObject)
      .find((each) => each.kind === kind);
    if (!object) throw new Error(`${page}: the first example has no ${kind}`);
    return object;
  });
}
