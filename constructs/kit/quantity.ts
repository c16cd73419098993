const UNITS: Readonly<Record<string, number>> = {
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/**
 * The number that a Kubernetes quantity stands for; bytes for memory and storage.
 * @throws RangeError where the text is not a quantity
 */
export function bytesOf(quantity: string): number {
  const match = /^\+?(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d+)|([KMGTPE]i|[mkMGTPE]?))$/.exec(quantity);
  if (!match) throw new RangeError(`${quantity} is not a quantity`);
  const [, digits = '', exponent = '', unit = ''] = match;
  return Number(`${digits}${exponent}`) * (UNITS[unit] ?? 1);
}
