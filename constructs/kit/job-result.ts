/**
 * Reads what Jobs report in their termination messages. The image of a bench may be anybody's, so the
 * message may be anything: what has another form than the scripts write is left out. The API server
 * refuses a status as a whole, so one bad field would stop all updates of a resource.
 */
import { isObject } from './json/is-object.js';

export type JobReport = Readonly<Record<string, unknown>>;

export interface Failure {
  readonly reason: string;
  readonly message: string;
}

/** Begins the last line of a script, and its termination message, see job_result.py. */
const PREFIX = 'app-operator: ';
const SUCCEEDED = `${PREFIX}Succeeded: `;
const FAILURE = /^((?:[A-Z][a-z]+)+): (.+)$/s;
const TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;
const REASON = /^[A-Za-z][A-Za-z0-9_]{0,1023}$/;
/** `20250131T120000Z`. */
const BACKUP_NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;
const LOCATION = /^(?:s3|pvc|https):\/\/[\x21-\x7e]{1,1000}$/;
const MAX_INT32 = 2 ** 31 - 1;

/** The object of JSON in a text; undefined if the text is anything else. */
export function parseReport(message = ''): JobReport | undefined {
  try {
    const value: unknown = JSON.parse(message);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The object in `app-operator: Succeeded: {...}`; an empty one if the message is anything else. */
export function parseOutcome(message = ''): JobReport {
  const text = message.startsWith(SUCCEEDED) ? message.slice(SUCCEEDED.length) : '';
  return parseReport(text) ?? {};
}

/** Why a Job failed, as its script said: `app-operator: <Reason>: <message>`; undefined for anything else. */
export function parseFailure(message = ''): Failure | undefined {
  const text = message.trim();
  return text.startsWith(PREFIX) ? failureIn(withoutPrefix(text)) : undefined;
}

/** The same of a text that begins with the reason. */
export function failureIn(text: string): Failure | undefined {
  const [, name, message] = FAILURE.exec(text) ?? [];
  const reason = reasonIn(name);
  return reason === undefined || message === undefined ? undefined : { reason, message };
}

export function withoutPrefix(line: string): string {
  return line.startsWith(PREFIX) ? line.slice(PREFIX.length) : line;
}

const RESULT_ID = /^[\w-]{1,63}$/;
/** More than a batch has requests. */
const MAX_RESULTS = 1_000;

/**
 * The entries of `{"results": {"<id>": [...]}}`; an entry that is no list is empty.
 * @throws where the message has no results
 */
export function resultEntries(
  message: string,
): readonly (readonly [id: string, entry: readonly unknown[]])[] {
  const results = parseReport(message)?.['results'];
  if (!isObject(results)) throw new Error('the termination message has no results');
  return Object.entries(results)
    .filter(([id]) => RESULT_ID.test(id))
    .slice(0, MAX_RESULTS)
    .map(([id, entry]) => [id, Array.isArray(entry) ? (entry as readonly unknown[]) : []]);
}

/** A text that matches; undefined for anything else. */
export function matchingText(value: unknown, pattern: RegExp): string | undefined {
  return typeof value === 'string' && pattern.test(value) ? value : undefined;
}

/** The beginning of a text; undefined for anything else. */
export function shortText(value: unknown, most: number): string | undefined {
  return typeof value === 'string' ? value.slice(0, most).toWellFormed() : undefined;
}

/** A time in RFC 3339 and UTC, to the second. */
export function timeIn(value: unknown): string | undefined {
  const text = matchingText(value, TIME);
  if (text === undefined) return undefined;
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split('-').map(Number);
  return day <= daysIn(year, month) ? text : undefined;
}

function daysIn(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  if (month === 2) return isLeap ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** The time that names a backup, in RFC 3339. */
export function timeOfBackup(name: unknown): string | undefined {
  const [, ...parts] = BACKUP_NAME.exec(typeof name === 'string' ? name : '') ?? [];
  const [year, month, day, hour, minute, second] = parts;
  return timeIn(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

/** The URL of a stored backup, of its store, or of the host of an archive. */
export function locationIn(value: unknown): string | undefined {
  return matchingText(value, LOCATION);
}

/** A whole number from 0 on. @param most the default is that of `int32` */
export function countIn(value: unknown, most = MAX_INT32): number | undefined {
  const isCount = typeof value === 'number' && Number.isSafeInteger(value);
  return isCount && value >= 0 && value <= most ? value : undefined;
}

/** A reason of a condition. */
export function reasonIn(value: unknown): string | undefined {
  return matchingText(value, REASON);
}

/** The first items of a list that match, each once. */
export function matchingItems(value: unknown, pattern: RegExp, most: number): readonly string[] {
  if (!Array.isArray(value)) return [];
  const items = value.slice(0, 10 * most).flatMap((item) => matchingText(item, pattern) ?? []);
  return [...new Set(items)].slice(0, most);
}
