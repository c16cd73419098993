import { shortNameOf } from '../../kube/kind-names.js';
import { omissionLines } from '../status/summary.js';
import { ageOf } from '../status/age.js';
import type { Removal } from './removal.js';
import type { RetainedData, RetainedObject, RetainedOwner } from './retained-data.js';

const HEADER = ['NAMESPACE', 'OWNER', 'KIND', 'NAME', 'AGE', 'COST'];

/** A table of all retained objects, their cost, and how to delete them. */
export function tableOf(data: RetainedData, program: string, now: number): string {
  const { owners, omitted } = data;
  const notShown = omissionLines(omitted);
  if (owners.length === 0) return [...notShown, 'nothing is retained', ''].join('\n');
  const rows = owners.flatMap((owner) =>
    owner.objects.map((object) => [
      owner.namespace,
      ownerOf(owner),
      object.kind.kind,
      object.name,
      object.since === '' ? '' : ageOf(object.since, now),
      costOf(object),
    ]),
  );
  const lines = [
    ...aligned([HEADER, ...rows]),
    '',
    ...notShown,
    totalOf(owners),
    ...owners.flatMap(usedLines),
    'A new bench or site of the same name and namespace takes its objects over.',
    'The database and files of a site are on the server and the volume of its bench, unless dedicated.',
    `To delete the objects of one owner with all data: ${program} retained ${exampleOf(owners)}`,
  ];
  return `${lines.join('\n')}\n`;
}

export function jsonOf({ owners, omitted }: RetainedData): string {
  const shown = owners.map(({ objects, ...owner }) => ({
    ...owner,
    objects: objects.map(({ kind, uid: _uid, ...object }) => ({ kind: kind.kind, ...object })),
  }));
  return `${JSON.stringify({ version: 1, owners: shown, omitted }, undefined, 2)}\n`;
}

/** What became of each object of an owner. */
export function removalLines(owner: RetainedOwner, removals: readonly Removal[]): string {
  const lines = removals.map(({ object: { kind, name }, skipped }) =>
    skipped === undefined
      ? `deleted ${kind.kind} ${name}`
      : `skipped ${kind.kind} ${name}: ${skipped}`,
  );
  const count = removals.filter(({ skipped }) => skipped === undefined).length;
  return `${[...lines, `${counted(count, 'object')} of ${ownerOf(owner)} deleted`].join('\n')}\n`;
}

function totalOf(owners: readonly RetainedOwner[]): string {
  const objects = owners.flatMap((owner) => owner.objects);
  const sum = (field: 'storage' | 'runningPods'): number =>
    objects.reduce((total, object) => total + object[field], 0);
  const kept = `${counted(owners.length, 'owner')} left ${counted(objects.length, 'object')}`;
  return `${kept}: ${sizeOf(sum('storage'))} of storage requested, ${counted(sum('runningPods'), 'running pod')}.`;
}

function usedLines(owner: RetainedOwner): readonly string[] {
  return owner.usedBy.length === 0
    ? []
    : [`${ownerOf(owner)} is still named by ${owner.usedBy.join(', ')}.`];
}

function exampleOf([owner]: readonly RetainedOwner[]): string {
  const { kind = '', name = '', namespace = '' } = owner ?? {};
  return `${shortNameOf(kind.toLowerCase())}/${name} -n ${namespace} --delete --confirm ${name}`;
}

function ownerOf({ kind, name }: RetainedOwner): string {
  return `${kind} ${name}`;
}

function costOf({ storage, runningPods }: RetainedObject): string {
  if (storage > 0) return sizeOf(storage);
  return runningPods > 0 ? counted(runningPods, 'running pod') : '';
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Bytes as a quantity: `10Gi`. */
function sizeOf(bytes: number): string {
  const units = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];
  let [size, unit] = [bytes, 0];
  while (size >= 1024 && unit < units.length - 1) [size, unit] = [size / 1024, unit + 1];
  return `${Number(size.toFixed(1))}${units[unit] ?? ''}`;
}

function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = HEADER.map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
