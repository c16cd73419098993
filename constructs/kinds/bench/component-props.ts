import type { BenchModel } from '../../frappe/bench-model.js';
import type { Resources } from '../../kit/api.js';
import type { AppBench } from '../../api/bench.js';

/** What each component of a bench is made from. */
export interface BenchComponentProps {
  readonly bench: BenchModel;
  readonly owner: AppBench;
  readonly replicas: number;
  readonly resources?: Resources | undefined;
}
