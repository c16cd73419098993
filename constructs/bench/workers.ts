import { isKnownQueue } from '../frappe/worker.js';
import type { Problem } from '../kit/errors.js';
import { benchNames } from '../kit/names.js';
import type { AppBench, QueueWorkers } from './api.js';

const LONGEST_NAME = 63;

/** What the schema cannot find about the workers of further queues. */
export function workersProblems({ metadata, spec }: AppBench): readonly Problem[] {
  const workers = spec.workers ?? [];
  return [...nameProblems(metadata.name, workers), ...timeoutProblems(workers)];
}

/** The name of the Deployment is the value of a label too. */
function nameProblems(bench: string, workers: readonly QueueWorkers[]): readonly Problem[] {
  const most = LONGEST_NAME - benchNames(bench).worker('').length;
  return workers.flatMap(({ name }, index) => {
    if (name.length <= most) return [];
    const message = `Invalid value: "${name}": must have at most ${most} characters: with the bench's name before it, a label holds 63`;
    return [{ path: `spec.workers[${index}].name`, message }];
  });
}

/** The framework has one time for each queue. */
function timeoutProblems(workers: readonly QueueWorkers[]): readonly Problem[] {
  const known = new Map<string, { readonly name: string; readonly seconds: number | undefined }>();
  return workers.flatMap(({ name, queues, timeoutSeconds: seconds }, index) =>
    queues.flatMap((queue) => {
      if (isKnownQueue(queue)) return [];
      const first = known.get(queue);
      if (!first) known.set(queue, { name, seconds });
      if (!first || first.seconds === seconds) return [];
      const message = `Invalid value: ${seconds ?? 'no value'}: queue ${queue} has ${first.seconds ?? 'no value'} in the workers ${first.name}, and a queue has one time`;
      return [{ path: `spec.workers[${index}].timeoutSeconds`, message }];
    }),
  );
}
