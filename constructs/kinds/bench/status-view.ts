import { isKnownQueue } from '../../frappe/worker.js';
import { benchNames, siteNames } from '../../kit/names.js';
import type { StatusColumn, StatusView } from '../../kit/status-view.js';
import type { AppBench } from '../../api/bench.js';

const QUEUE_LENGTH = /^app_worker_queue_length\{(.*)\} (\S+)$/gm;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

export const benchStatusView: StatusView<AppBench> = {
  details: ({ spec, status = {} }) => ({
    frameworkVersion: spec.frameworkVersion,
    image: status.image,
    sites: status.sites,
    upgrade: status.upgrade?.progress,
  }),
  columns({ frameworkVersion, sites, upgrade }) {
    const columns: StatusColumn[] = [{ text: String(frameworkVersion) }];
    if (typeof sites === 'number')
      columns.push({ text: `${sites} ${sites === 1 ? 'site' : 'sites'}` });
    if (typeof upgrade === 'string') columns.push({ text: `upgrade ${upgrade}` });
    return columns;
  },
  exporter: {
    serviceName: ({ metadata }) => benchNames(metadata.name).metrics,
    queueLengths: (scrape, { metadata, spec }) =>
      queueLengthsOf(scrape, metadata.name, spec.workers),
  },
};

/** The waiting jobs in a scrape of a bench's exporter, by the Deployment of the bench or of a site. */
export function queueLengthsOf(
  scrape: string,
  bench: string,
  workers: AppBench['spec']['workers'] = [],
): ReadonlyMap<string, number> {
  const lengths = new Map<string, number>();
  for (const [, labels = '', value] of scrape.matchAll(QUEUE_LENGTH)) {
    const { site = '', queue = '' } = Object.fromEntries(
      [...labels.matchAll(LABEL)].map(([, name = '', text = '']) => [name, text]),
    );
    const names = site === '' || site === '-' ? benchNames(bench) : siteNames(site);
    const groups = workers.filter(({ queues }) => queues.includes(queue)).map(({ name }) => name);
    for (const group of isKnownQueue(queue) ? [queue, ...groups] : groups) {
      const worker = names.worker(group);
      lengths.set(worker, (lengths.get(worker) ?? 0) + Number(value));
    }
  }
  return lengths;
}
