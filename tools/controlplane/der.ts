/** The few ASN.1 types (DER) that an X.509 certificate is made of. */

export function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content]);
}

export const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts);
export const set = (...parts: readonly Buffer[]): Buffer => tagged(0x31, ...parts);
export const octets = (content: Buffer): Buffer => tagged(0x04, content);
export const utf8 = (text: string): Buffer => tagged(0x0c, Buffer.from(text));
export const yes = (): Buffer => tagged(0x01, Buffer.from([0xff]));

/** A whole number given by its bytes, most significant first. */
export function integer(bytes: Buffer): Buffer {
  const negative = ((bytes[0] ?? 0) & 0x80) !== 0;
  return tagged(0x02, negative ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

export function bits(content: Buffer, unused = 0): Buffer {
  return tagged(0x03, Buffer.from([unused]), content);
}

/** An object identifier from its dotted form. */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second, ...rest.flatMap(base128)];
  return tagged(0x06, Buffer.from(bytes));
}

/** A time with a two-digit year, as X.509 wants it before 2050. */
export function time(date: Date): Buffer {
  if (date.getUTCFullYear() >= 2050) throw new RangeError('UTCTime ends with the year 2049');
  const digits = date.toISOString().replace(/[-:T]/g, '').slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`));
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}

function lengthOf(content: Buffer): Buffer {
  if (content.length < 0x80) return Buffer.from([content.length]);
  const hex = content.length.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}
