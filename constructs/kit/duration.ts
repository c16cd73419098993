const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/**
 * A duration as Go writes it (`10h`, `5m30s`, `1.5s`, `0`) in milliseconds; undefined where it is
 * none.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, value, unit] of text.matchAll(/([0-9.]+)([^0-9.]+)/g)) {
    total += Number(value) * (UNITS[unit ?? ''] ?? NaN);
  }
  return total;
}
