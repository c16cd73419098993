import type { Problem } from './errors.js';
import { isObject } from './json/is-object.js';
import { bytesOf } from './quantity.js';

const MIB = 2 ** 20;
const PIB = 2 ** 50;
/** Less than any container needs, and more than any node has. */
const MEMORY = { least: 4 * MIB, most: PIB / 16 } as const;
/** Cores: the API server rounds a smaller part up, and no container of ours uses more. */
const CPU = { least: 0.001, most: 128 } as const;
const VOLUME = { least: MIB, most: PIB } as const;

/**
 * Quantities that a resource can hardly mean, such as 512m for 512Mi of memory: warnings at admission.
 * They are under `requests` and `limits` of resources, and `size` of volumes, at any depth of a spec.
 */
export function quantityWarnings(spec: unknown): readonly Problem[] {
  const found: Problem[] = [];
  const left: [path: string, field: string, value: unknown][] = [['spec', '', spec]];
  for (let next = left.shift(); next; next = left.shift()) {
    const [path, field, value] = next;
    if (!isObject(value)) continue;
    if (field === 'requests' || field === 'limits') {
      found.push(...computeWarnings(value, path));
      continue;
    }
    if (field === 'storage') found.push(...volumeWarnings(value['size'], `${path}.size`));
    for (const [name, inner] of Object.entries(value)) left.push([`${path}.${name}`, name, inner]);
  }
  return found;
}

function computeWarnings(
  amounts: Readonly<Record<string, unknown>>,
  path: string,
): readonly Problem[] {
  return Object.entries(amounts).flatMap(([resource, amount]) => {
    const number = numberOf(amount);
    // Zero is a request for nothing, and no limit.
    if (number === undefined || number === 0) return [];
    const message =
      resource === 'cpu'
        ? cpuMessage(String(amount), number)
        : resource === 'memory' || resource === 'ephemeral-storage'
          ? bytesMessage(String(amount), number, MEMORY)
          : undefined;
    return message === undefined ? [] : [{ path: `${path}.${resource}`, message }];
  });
}

function volumeWarnings(size: unknown, path: string): readonly Problem[] {
  const number = numberOf(size);
  const message = number === undefined ? undefined : bytesMessage(String(size), number, VOLUME);
  return message === undefined ? [] : [{ path, message }];
}

function bytesMessage(
  text: string,
  bytes: number,
  { least, most }: typeof MEMORY | typeof VOLUME,
): string | undefined {
  if (bytes >= least && bytes <= most) return undefined;
  if (bytes > most) return `${text} is more than ${most / 2 ** 40} TiB: no node or volume has that`;
  const [digits] = /^[+]?[0-9.]+/.exec(text) ?? [];
  const unit = text.endsWith('m') ? 'm stands for thousandths: ' : '';
  return `${text} is ${bytes} bytes: ${unit}did you mean ${digits ?? text}Mi?`;
}

function cpuMessage(text: string, cores: number): string | undefined {
  if (cores < CPU.least) return `${text} is less than 1m, a thousandth of a core`;
  if (cores <= CPU.most) return undefined;
  return `${text} is ${cores} cores: did you mean ${Math.round(cores)}m?`;
}

/** undefined where the schema has a problem with the quantity. */
function numberOf(quantity: unknown): number | undefined {
  try {
    return typeof quantity === 'string' ? bytesOf(quantity) : undefined;
  } catch {
    return undefined;
  }
}
