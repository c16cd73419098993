const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
  [1, 's'],
] as const;

/** The time since an event, in one unit: `45s`, `3m`, `5h`, `12d`. */
export function ageOf(time: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  const [size, unit] = UNITS.find(([limit]) => seconds >= limit) ?? [1, 's'];
  return `${Math.floor(seconds / size)}${unit}`;
}
