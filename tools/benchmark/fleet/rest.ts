import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorProcess, type OperatorProcessOptions } from '../../../testbed/operator-process.js';

/** CPU of the operator in a second, below which it is at rest. */
const REST_CPU = 0.05;
/** Seconds in a row: the last request about optional APIs is sent seven seconds after the start. */
const REST_SECONDS = 8;

/** Starts the operator. Resolves when its caches are filled. */
export function startOperator(options: OperatorProcessOptions): Promise<OperatorProcess> {
  return OperatorProcess.start({ ...options, logFile: process.env['BENCHMARK_LOG'] });
}

/** Waits until the operator is at rest. */
export async function atRest(operator: OperatorProcess): Promise<void> {
  let before = await operator.cpu();
  for (let seconds = 0; seconds < REST_SECONDS;) {
    await sleep(1_000);
    const cpu = await operator.cpu();
    seconds = cpu - before < REST_CPU ? seconds + 1 : 0;
    before = cpu;
  }
}
