/** One line of the changelog. */
export interface Change {
  /** In the words of Keep a Changelog, which are those of Artifact Hub. */
  readonly kind: string;
  readonly description: string;
}

/** A release in the changelog. */
export interface Release {
  /** `YYYY-MM-DD`. */
  readonly date: string;
  readonly changes: readonly Change[];
}

/**
 * The section of a version, as text without links.
 * @throws Error where the changelog does not have the version, or no date with it
 */
export function releaseOf(changelog: string, version: string): Release {
  const sections = changelog.split(/^## /m);
  const section = sections.find((text) => text.startsWith(`${version} `)) ?? '';
  const date = /^\S+ - (\d{4}-\d{2}-\d{2})$/m.exec(section)?.[1];
  if (date === undefined) throw new Error(`CHANGELOG.md: no section of ${version} with a date`);
  const changes = section.split(/^### /m).flatMap((part) => {
    const [title = '', ...lines] = part.split('\n');
    return lines
      .filter((line) => line.startsWith('- '))
      .map((line) => ({ kind: title.trim().toLowerCase(), description: plain(line.slice(2)) }));
  });
  return { date, changes };
}

function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '');
}
