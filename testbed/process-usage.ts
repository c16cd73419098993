import { readFile } from 'node:fs/promises';

/** Of /proc/<pid>/stat: what Linux has on every machine that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Seconds of CPU that a process has used, of all its threads. */
export async function cpuSecondsOf(id: number | string): Promise<number> {
  const stat = await readFile(`/proc/${id}/stat`, 'utf8');
  // The name of the program may hold spaces; the numbers begin after its bracket.
  const numbers = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(numbers[11]) + Number(numbers[12])) / TICKS_PER_SECOND;
}
