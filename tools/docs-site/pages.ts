import path from 'node:path/posix';

/** A file of the repository that is a page of the site. Both paths are relative, with `/`. */
export interface Page {
  readonly file: string;
  /** File of the page in the sources of the site. */
  readonly page: string;
}

/** Entries of the navigation at the side. */
export interface SidebarGroup {
  readonly text: string;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

const EXAMPLES = 'examples';
const PICTURES = 'docs/pictures';
/** The pages whose place is not that of their file. */
const MOVED: Readonly<Record<string, string>> = {
  'README.md': 'index.md',
  'docs/README.md': 'tasks.md',
  'CONTRIBUTING.md': 'contributing/index.md',
  'SECURITY.md': 'security/index.md',
  'CHANGELOG.md': 'changelog.md',
};
const LINK = /(!?)\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g;
const COMMENT = /<!--[\s\S]*?-->\n?/g;
const FENCE = /^(`{3,}|~{3,})[\s\S]*?^\1\s*$/gm;
const HEADING = /^#\s+(.+)$/m;

/** @param file of the repository: in docs/, or one at its top */
export function pageOf(file: string): Page | undefined {
  const moved = MOVED[file];
  if (moved) return { file, page: moved };
  if (!file.startsWith('docs/') || !file.endsWith('.md')) return undefined;
  return { file, page: file.slice('docs/'.length).replace(/README\.md$/, 'index.md') };
}

/**
 * The text of a page for the site. Links to other pages lead to their place in the site. A link to a
 * file that is no page becomes plain text: the site is complete without the repository.
 * @throws Error that names the file and the link, if it leads to nothing in the repository
 */
export function pageText(
  { file, page }: Page,
  text: string,
  exists: (file: string) => boolean,
): string {
  return outsideFences(text.replace(COMMENT, ''), (part) =>
    part.replace(LINK, (whole, image: string, label: string, target: string) => {
      if (/^([a-z]+:|#)/.test(target)) return whole;
      const [to = '', anchor] = target.split('#');
      const wanted = path.join(path.dirname(file), to).replace(/\/$/, '');
      const link = linkOf(wanted);
      if (link) return `${image}[${label}](${relative(page, link)}${anchor ? `#${anchor}` : ''})`;
      if (exists(wanted)) return label;
      throw new Error(`${file}: link to ${target}: no such file in the repository`);
    }),
  );
}

/** The page with all example manifests. */
export function examplesPage(manifests: Readonly<Record<string, string>>): string {
  const sections = Object.entries(manifests).map(
    ([name, yaml]) => `## ${name}\n\n\`\`\`yaml\n${yaml.trimEnd()}\n\`\`\`\n`,
  );
  return ['# Examples\n', 'Manifests to copy.\n', ...sections].join('\n');
}

/** The first heading of a page. @throws Error if it has none */
export function titleOf(file: string, text: string): string {
  const title = HEADING.exec(text.replace(FENCE, ''))?.[1];
  if (!title) throw new Error(`${file}: no heading of level 1`);
  return title.replaceAll('`', '');
}

/**
 * The groups of the index, then those of the folders.
 * @param index the text of docs/README.md: its headings of level 2 that have a table are the groups
 * @param titles by page, as `spec/appsite.md`
 */
export function sidebarOf(index: string, titles: ReadonlyMap<string, string>): SidebarGroup[] {
  const placed = new Set<string>(['index.md']);
  const group = (text: string, pages: Iterable<string>): SidebarGroup => {
    const items = [...pages].flatMap((page) => {
      const title = titles.get(page);
      if (title === undefined || placed.has(page)) return [];
      placed.add(page);
      return [{ text: title, link: `/${page.replace(/(index)?\.md$/, '')}` }];
    });
    return { text, items };
  };
  const within = (folder: string) => [...titles.keys()].filter((page) => page.startsWith(folder));
  const [, ...sections] = index.split(/^## /m);
  const groups = sections.map((section) => {
    const [name = ''] = section.split('\n', 1);
    const pages = linkedPages(section).filter((page) => !page.startsWith('spec/'));
    if (name === 'Start') return group(name, ['tasks.md', ...pages]);
    // The pages of the folder that no row names follow those of its group.
    if (name === 'Security') return group(name, [...pages, ...within('security/')]);
    return name === 'Reference'
      ? group(name, [...pages.filter((page) => !page.startsWith('contributing/')), 'examples.md'])
      : group(name, pages);
  });
  return [
    ...groups,
    group('Kinds', within('spec/')),
    group('Runbooks', within('runbooks/')),
    group('Contributing', within('contributing/')),
    group('Decisions', within('adr/')),
    group('More', [...titles.keys()]),
  ].filter(({ items }) => items.length > 0);
}

function linkedPages(text: string): readonly string[] {
  return [...text.matchAll(LINK)].flatMap(([, , , target = '']) => {
    const page = pageOf(path.join('docs', target.split('#')[0] ?? ''))?.page;
    return page ? [page] : [];
  });
}

function linkOf(file: string): string | undefined {
  if (file === EXAMPLES) return 'examples.md';
  if (path.dirname(file) === EXAMPLES)
    return `examples.md#${path.basename(file).replaceAll('.', '')}`;
  if (file === 'docs') return 'tasks.md';
  if (path.dirname(file) === PICTURES) return `pictures/${path.basename(file)}`;
  return pageOf(file)?.page;
}

function relative(from: string, to: string): string {
  const link = path.relative(path.dirname(from), to);
  return link.startsWith('.') ? link : `./${link}`;
}

/** Changes the text of a page, but not its blocks of code. */
function outsideFences(text: string, change: (part: string) => string): string {
  let at = 0;
  let changed = '';
  for (const fence of text.matchAll(FENCE)) {
    changed += change(text.slice(at, fence.index)) + fence[0];
    at = fence.index + fence[0].length;
  }
  return changed + change(text.slice(at));
}
