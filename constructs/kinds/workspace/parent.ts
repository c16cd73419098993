import { documentKey } from '../../batches/documents/kind.js';
import { Waiting } from '../../kit/errors.js';
import type { Index, ClusterReader } from '../../kit/kind.js';
import type { SiteWorkspace } from '../../api/workspace.js';

/**
 * Whether the workspace that one stands below is written, where it is one of ours. One that is the
 * site's own is none of ours to wait for: from version-16 on the framework refuses a parent that
 * does not exist.
 * @throws Waiting where it is ours and not in the site yet
 */
export function parentOf(
  resource: SiteWorkspace,
  index: Index<SiteWorkspace>,
  reader: ClusterReader,
): readonly string[] {
  const { parentPage } = resource.spec;
  if (parentPage === undefined) return [];
  const parents = reader.list(index, documentKey(resource, parentPage), parentOffer);
  if (parents.some(({ written }) => written)) return [parentPage];
  const [parent] = parents;
  if (!parent) return [];
  throw new Waiting(
    'WaitingForParent',
    `spec.parentPage: SiteWorkspace "${parent.name}" is not in the site yet`,
  );
}

function parentOffer({ metadata, status }: SiteWorkspace): {
  readonly name: string;
  readonly written: boolean;
} {
  const written = status?.outcome !== undefined && status.outcome !== 'Failed';
  return { name: metadata.name, written };
}
