import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { projectRoot } from '../../testbed/project-root.js';
import { FIGURES, type Measured } from './figures.js';

/** The figures of a quick run that do not depend on the machine, by name. */
export type Expected = Readonly<Record<string, number>>;

const FILE = path.join(projectRoot(), 'tools/benchmark/expected.json');
const UPDATE = 'npm run benchmark -- --update';

export async function readExpected(): Promise<Expected> {
  return JSON.parse(await readFile(FILE, 'utf8')) as Expected;
}

export async function writeExpected(measured: Measured): Promise<void> {
  await writeFile(FILE, `${JSON.stringify(comparedOf(measured), null, 2)}\n`);
}

/** The figures that a run compares. */
export function comparedOf(measured: Measured): Expected {
  return Object.fromEntries(
    FIGURES.flatMap(({ name, value, tolerance }) => {
      const found = value(measured);
      return name === undefined || tolerance === undefined || found === undefined
        ? []
        : [[name, Number(found.toFixed(2))] as const];
    }),
  );
}

/** The figures that differ from the expected ones by more than their tolerance. */
export function deviations(found: Expected, expected: Expected): readonly string[] {
  return FIGURES.flatMap(({ name = '', tolerance }) => {
    if (tolerance === undefined) return [];
    const [now, wanted] = [found[name] ?? NaN, expected[name] ?? NaN];
    if (Math.abs(now - wanted) <= wanted * tolerance) return [];
    const range = tolerance === 0 ? '' : ` ± ${tolerance * 100} %`;
    return [`${name}: expected ${wanted}${range}: ${now}; if this is meant, run: ${UPDATE}`];
  });
}
