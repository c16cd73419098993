import { randomFrom } from '../../../../testbed/random.js';
import { OPERATIONS, type Operation } from '../lifecycle.js';
import type { Fault } from './fault.js';

/** A fault during an operation, at a moment. */
export interface Sample {
  readonly operation: Operation;
  readonly fault: Fault;
  readonly moment: number;
}

/** Of each operation one sample; a namespace goes through them in the order of the operations. */
export type Course = readonly Sample[];

export const nameOf = ({ operation, fault, moment }: Sample): string =>
  `${operation}: ${fault.name}, moment ${moment}`;

/** Every operation with every fault at every moment. */
function allSamples(faults: readonly Fault[]): readonly Sample[] {
  return OPERATIONS.flatMap((operation) =>
    faults
      .filter(({ operations = OPERATIONS }) => operations.includes(operation))
      .flatMap((fault) =>
        Array.from({ length: fault.moments }, (_, moment) => ({ operation, fault, moment })),
      ),
  );
}

/** Some courses of a seed: each fault is used about as often as each other, at any moments. */
export function someCourses(
  faults: readonly Fault[],
  count: number,
  seed: number,
): readonly Course[] {
  const random = randomFrom(seed);
  const columns = OPERATIONS.map((operation) => {
    const possible = faults.filter(({ operations = OPERATIONS }) => operations.includes(operation));
    const used: Fault[] = [];
    while (used.length < count) used.push(...shuffled(possible, random));
    return used
      .slice(0, count)
      .map((fault) => ({ operation, fault, moment: Math.floor(random() * fault.moments) }));
  });
  return Array.from({ length: count }, (_, row) => columns.flatMap((column) => column[row] ?? []));
}

/** Courses that have all samples, each once. */
export function allCourses(faults: readonly Fault[]): readonly Course[] {
  const all = allSamples(faults);
  const columns = OPERATIONS.map((one) => all.filter(({ operation }) => operation === one));
  const count = Math.max(...columns.map(({ length }) => length));
  return Array.from({ length: count }, (_, row) => columns.flatMap((column) => column[row] ?? []));
}

function shuffled<T>(values: readonly T[], random: () => number): readonly T[] {
  return values
    .map((value) => ({ value, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ value }) => value);
}
