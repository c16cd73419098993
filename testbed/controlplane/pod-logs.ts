import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { type AdminClient, ifExists } from './admin-client.js';
import { collectionOf, kwokObject } from './kwok-kinds.js';
import { withBackoff } from './backoff.js';
import { type Labels, listPods } from './pods.js';

/** The part of a control plane that these functions use. */
interface Cluster {
  readonly api: AdminClient;
  readonly dataDir: string;
}

/** Gives every pod an empty log, until `writePodLogs` replaces it. */
export async function createEmptyLogs(api: AdminClient, dataDir: string): Promise<void> {
  const logsFile = await writeLog(dataDir, '');
  const everything = kwokObject('clusterlogs', { name: 'empty' }, { logs: [{ logsFile }] });
  await api.apply(collectionOf('clusterlogs'), everything);
}

/**
 * Replaces the log of the existing pods with these labels.
 * To write it before the pod of a Job ends, call `holdPods` first.
 */
export async function writePodLogs(
  { api, dataDir }: Cluster,
  labels: Labels,
  text: string,
): Promise<void> {
  const logsFile = await writeLog(dataDir, text);
  const whole = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  for (const { metadata, spec } of await listPods(api, labels)) {
    const { namespace, name } = metadata;
    const pod = `/api/v1/namespaces/${namespace}/pods/${name}`;
    const writeLogs = async (): Promise<void> => {
      const annotations = { 'kwok.test/written': randomUUID() };
      const logs = kwokObject('logs', { namespace, name, annotations }, { logs: [{ logsFile }] });
      await api.apply(collectionOf('logs', namespace), logs);
    };
    await writeLogs();
    const container = encodeURIComponent(spec.containers[0]?.name ?? '');
    // kwok may keep the previous list until an item changes again (see `stagesKnown`).
    const writeAgain = withBackoff(writeLogs);
    await api.until(`the log of ${name}`, async () => {
      if (!(await ifExists(api.request('GET', pod)))) return true;
      if ((await api.text(`${pod}/log?container=${container}`)) === whole) return true;
      await writeAgain();
      return false;
    });
  }
}

/** Writes the text as a container runtime does, one line with its time and stream each. */
async function writeLog(dataDir: string, text: string): Promise<string> {
  const folder = path.join(dataDir, 'pod-logs');
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, `${randomUUID()}.log`);
  const time = new Date().toISOString().replace('Z', '000000Z');
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  await writeFile(file, lines.map((line) => `${time} stdout F ${line}\n`).join(''));
  return file;
}
