import path from 'node:path';
import { parseAllDocuments } from 'yaml';

import { renderTrees } from '../../cli/commands/status/render-tree.js';
import type { StatusReport } from '../../cli/commands/status/reporter.js';
import { allOf } from '../../cli/commands/status/tree-node.js';
import { renderFile } from '../../cli/testing.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { projectRoot } from '../../testbed/project-root.js';
import { metadataIn, terminalSvg } from './terminal.js';

/** Narrow enough to be read on a phone. */
const COLUMNS = 64;
/** What the demo applies, in `examples/`. */
export const DEMO_FILES = ['bench.yaml', 'site.yaml'];
/** For the picture, without its Secret: what a site that waits looks like. */
export const WAITING_FILE = 'site-configuration.yaml';
export const MISSING_SECRET = 'configured-mail';

/** What a run has shown, and when, in milliseconds since 1970. */
interface Recorded {
  readonly now: number;
  readonly resources: StatusReport['resources'];
}

export const statusFile = (): string => path.join(projectRoot(), 'docs/pictures/status.svg');

/** The output of `app-operator status`, as a picture. */
export function statusPicture({ now, resources }: Recorded): string {
  const lines = renderTrees(resources, { colours: true, columns: COLUMNS, now });
  return terminalSvg(
    ['$ app-operator status', ...lines],
    COLUMNS,
    JSON.stringify({ now, resources }),
  );
}

/** @returns why a picture is not what the code of today shows, or undefined */
export function staleStatus(svg: string): string | undefined {
  const recorded = JSON.parse(metadataIn(svg)) as Recorded;
  if (statusPicture(recorded) !== svg) return 'app-operator status prints something else';
  const shown = recorded.resources.flatMap(allOf).map(({ kind, name }) => `${kind}/${name}`);
  const missing = demoObjects().filter((name) => !shown.includes(name));
  return missing.length === 0 ? undefined : `the demo has more objects: ${missing.join(', ')}`;
}

/** What the bench and the site of the demo consist of today. */
function demoObjects(): readonly string[] {
  const files = DEMO_FILES.map((file) => path.join(projectRoot(), 'examples', file));
  return parseAllDocuments(renderFile(files)).map((document) => {
    const { kind, metadata } = document.toJS() as KubeObject;
    return `${kind}/${metadata.name}`;
  });
}
