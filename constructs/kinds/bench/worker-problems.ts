import { DEFAULT_TIMEOUT, isKnownQueue } from '../../frappe/worker.js';
import type { Problem } from '../../kit/errors.js';
import type { AppBench } from '../../api/bench.js';

/** What the schema cannot find about the workers of further queues: the framework has one time for each. */
export function workersProblems({ spec }: AppBench): readonly Problem[] {
  const workers = spec.workers ?? [];
  const known = new Map<string, { readonly name: string; readonly seconds: number }>();
  return workers.flatMap(({ name, queues, timeoutSeconds: seconds = DEFAULT_TIMEOUT }, index) =>
    queues.flatMap((queue) => {
      if (isKnownQueue(queue)) return [];
      const first = known.get(queue);
      if (!first) known.set(queue, { name, seconds });
      if (!first || first.seconds === seconds) return [];
      const message = `Invalid value: ${seconds}: queue ${queue} has ${first.seconds} in the workers ${first.name}, and a queue has one time`;
      return [{ path: `spec.workers[${index}].timeoutSeconds`, message }];
    }),
  );
}
