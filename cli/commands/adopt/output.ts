import { toYaml } from '../../io/yaml.js';
import type { Adoption } from './adoption.js';
import { stepsOf } from './commands.js';
import type { Mapping } from './values.js';

/** The resources, under a comment with what they need and what is lost. */
export function yamlOf(adoption: Adoption, program: string): string {
  const { bench, sites, lost, warnings } = adoption;
  const comment = [
    `${titleOf(adoption)}.`,
    `The Secrets that they name, and what to run: ${program} adopt without -o yaml.`,
    ...warnings,
    ...lost.map(({ value, here }) => `Lost: ${value}; instead: ${here}`),
  ];
  return `${comment.map((line) => `# ${line}\n`).join('')}${toYaml([bench, ...sites])}`;
}

export function tableOf(adoption: Adoption, program: string): string {
  const { mapped, kept, lost, warnings } = adoption;
  const lines = [
    `${titleOf(adoption)}. Nothing was changed.`,
    '',
    ...objectLines(adoption),
    ...mappingLines('VALUE', 'FIELD', mapped),
    ...mappingLines('VALUE', 'STAYS, OR IS NOT NEEDED', kept),
    ...mappingLines('LOST', 'INSTEAD', lost),
    '',
    ...warnings.map((warning) => `Note: ${warning}`),
    ...stepsOf(adoption, program).flatMap(({ heading, lines: commands }) => [
      '',
      `${heading}:`,
      ...commands.map((line) => `  ${line}`),
    ]),
  ];
  return `${lines.join('\n')}\n`;
}

function titleOf({ release }: Adoption): string {
  const { name, namespace, chart, revision } = release;
  return `Release ${name} in namespace ${namespace}: chart ${chart.name} ${chart.version}, revision ${revision}`;
}

function objectLines({ bench, sites, claim, servers }: Adoption): readonly string[] {
  const rows = sites.map((site) => {
    const { siteName, dbConfig } = (site as unknown as SiteView).spec;
    return ['AppSite', site.metadata.name, `site ${siteName}, database ${dbConfig.name}`];
  });
  const uses = `claim ${claim}, ${servers.provider} ${servers.host}:${servers.port}`;
  return aligned([['KIND', 'NAME', 'USES'], ['AppBench', bench.metadata.name, uses], ...rows]);
}

interface SiteView {
  readonly spec: { readonly siteName: string; readonly dbConfig: { readonly name: string } };
}

function mappingLines(
  value: string,
  here: string,
  mappings: readonly Mapping[],
): readonly string[] {
  if (mappings.length === 0) return [];
  return ['', ...aligned([[value, here], ...mappings.map((one) => [one.value, one.here])])];
}

function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
