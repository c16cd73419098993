import type { SiteWorkspaceSpec, WorkspaceBlock } from '../../api/workspace.js';

/** A block of a workspace's page, as the desk stores it. */
export interface StoredBlock {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, string | number>>;
}

/**
 * What the desk calls a type of block, and how wide it makes a new one, in twelfths of the page.
 */
const TYPES: Readonly<
  Record<WorkspaceBlock['type'], { readonly type: string; readonly columns: number }>
> = {
  header: { type: 'header', columns: 12 },
  paragraph: { type: 'paragraph', columns: 12 },
  spacer: { type: 'spacer', columns: 12 },
  shortcut: { type: 'shortcut', columns: 3 },
  card: { type: 'card', columns: 4 },
  chart: { type: 'chart', columns: 12 },
  numberCard: { type: 'number_card', columns: 4 },
  quickList: { type: 'quick_list', columns: 4 },
  onboarding: { type: 'onboarding', columns: 12 },
  customBlock: { type: 'custom_block', columns: 12 },
};

/** The page: a child row is shown only where a block names its label. */
export function contentOf(spec: SiteWorkspaceSpec): readonly StoredBlock[] {
  return (spec.blocks ?? everything(spec)).map(({ type, text, label, columns }, at) => {
    const { type: stored, columns: usual } = TYPES[type];
    const data = { col: columns ?? usual };
    return {
      // The place in the page: an id only has to be another one for each block.
      id: `block-${at + 1}`,
      type: stored,
      data: {
        ...(text === undefined ? {} : { text }),
        ...(label === undefined ? {} : { [`${stored}_name`]: label }),
        ...data,
      },
    };
  });
}

/** All that the spec has, in the order of its fields. Cards that are left out have no block. */
function everything(spec: SiteWorkspaceSpec): readonly WorkspaceBlock[] {
  const blocks = (type: WorkspaceBlock['type'], items?: readonly { readonly label: string }[]) =>
    (items ?? []).map(({ label }) => ({ type, label }));
  return [
    ...blocks('shortcut', spec.shortcuts),
    ...blocks(
      'card',
      spec.cards?.filter(({ hidden }) => !hidden),
    ),
    ...blocks('chart', spec.charts),
    ...blocks('numberCard', spec.numberCards),
    ...blocks('quickList', spec.quickLists),
    ...blocks('customBlock', spec.customBlocks),
  ];
}
