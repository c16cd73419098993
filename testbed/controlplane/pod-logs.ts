import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { type Api, orGone } from './api.js';
import { collectionOf, kwokObject } from './kinds.js';
import { lessAndLessOften } from './less-often.js';
import { type Labels, listPods } from './pods.js';

/** What is needed of a control plane. */
interface Cluster {
  readonly api: Api;
  readonly dataDir: string;
}

/** Lets every pod have an empty log, until `writePodLogs` says otherwise. */
export async function createEmptyLogs(api: Api, dataDir: string): Promise<void> {
  const logsFile = await writeLog(dataDir, '');
  const everything = kwokObject('clusterlogs', { name: 'empty' }, { logs: [{ logsFile }] });
  await api.apply(collectionOf('clusterlogs'), everything);
}

/**
 * Gives the pods with these labels, of those that exist now, this log, in place of what they had.
 * A Job's pod can be given one before it ends while `holdPods` holds it.
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
    const tell = async (): Promise<void> => {
      const annotations = { 'kwok.test/told': randomUUID() };
      const logs = kwokObject('logs', { namespace, name, annotations }, { logs: [{ logsFile }] });
      await api.apply(collectionOf('logs', namespace), logs);
    };
    await tell();
    const container = encodeURIComponent(spec.containers[0]?.name ?? '');
    // kwok may keep the list of before, until something in it changes again (see `stagesKnown`).
    const remind = lessAndLessOften(tell);
    await api.until(`the log of ${name}`, async () => {
      if (!(await orGone(api.request('GET', pod)))) return true;
      if ((await api.text('GET', `${pod}/log?container=${container}`)) === whole) return true;
      await remind();
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
