import type { Call } from '../../../../testbed/fault-proxy/call.js';
import {
  afterFirst,
  answered,
  cutInTheMiddle,
  delayed,
  dropped,
  first,
  halved,
  lists,
  lost,
  older,
  refused,
  replaced,
  type Rule,
  split,
  stale,
  watches,
  when,
  writes,
} from '../../../../testbed/fault-proxy/faults.js';
import * as watch from '../../../../testbed/fault-proxy/watch-faults.js';

/** What is wrong with the calls or the watch of a path. */
export interface CallFault {
  readonly what: string;
  readonly rule?: Rule;
  readonly watchFault?: watch.WatchFault;
}

/** Created for each use: they count the calls that they have met. */
export type CallFaults = () => readonly CallFault[];

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
const HTML = '<html><body>502 Bad Gateway</body></html>\n';
/** A Deployment of another API, half an object, and what else is no event. */
const ODD_EVENTS: Readonly<Record<string, readonly watch.Part[]>> = {
  null: ['null\n'],
  HTML: [HTML],
  'half of JSON': ['{"type":"ADDED","obj\n'],
  'a list': ['[]\n'],
  'a number': ['7\n'],
  'an unknown type': [line({ type: 'RENAMED', object: { metadata: { name: 'x' } } })],
  'an event without an object': [line({ type: 'ADDED' })],
  'an object that is text': [line({ type: 'MODIFIED', object: 'text' })],
  'an object without metadata': [line({ type: 'MODIFIED', object: { kind: 'X' } })],
  'an error without a code': [watch.errorLine({})],
  'an error 500': [watch.errorLine({ code: 500, message: 'etcd' })],
  'an expired version': [watch.EXPIRED],
  'the end of the watch': [watch.END],
  'a cut': [watch.CUT],
};

const NOT_A_LIST: Readonly<Record<string, string>> = {
  HTML: HTML,
  null: 'null',
  'half of JSON': '{"kind":"List","items":[{"metada',
  'a list of another shape': '[]',
  'items that are null': '{"kind":"List","metadata":{"resourceVersion":"5"},"items":null}',
  'a Status': '{"kind":"Status","status":"Failure","code":500}',
  nothing: '',
};

const RETRY_AFTER: Readonly<Record<string, string>> = {
  seconds: '1',
  zero: '0',
  'a date': 'Wed, 21 Oct 2015 07:28:00 GMT',
  'a negative number': '-5',
  'an hour': '3600',
  text: 'soon',
};

/** Refused with 404, a deletion or the removal of a finalizer would be one of an object that does not exist. */
const isApply = ({ query }: Call): boolean => query.has('force');
/** Refused with 409, a deletion would be one of another object of the name. */
const isNoDeletion = ({ query }: Call): boolean => query.has('fieldManager');
/** Each list fails twice. */
const twice = (rule: Rule): Rule => lists(first(2, rule));
/** Each write fails the first time. */
const once = (rule: Rule): Rule => writes(first(1, rule));

const each = <T>(
  values: Readonly<Record<string, T>>,
  fault: (value: T, name: string) => CallFault,
): readonly CallFault[] => Object.entries(values).map(([name, value]) => fault(value, name));

export const EVENTS_OF_WATCHES: CallFaults = () => [
  { what: 'events in chunks of seven bytes', watchFault: watch.split(7) },
  { what: 'doubled events', watchFault: watch.doubled },
  { what: 'exchanged events', watchFault: watch.swapped },
  { what: 'older events again', watchFault: watch.replayed },
  { what: 'late events', watchFault: watch.delayed(700) },
  { what: 'no bookmarks', watchFault: watch.withoutBookmarks },
  { what: 'a cut in the middle of an event', watchFault: watch.cutInTheMiddle() },
  ...each(ODD_EVENTS, (parts, name) => ({
    what: `${name} between events`,
    watchFault: watch.inserted(parts),
  })),
];

export const ANSWERS_TO_READS: CallFaults = () => [
  { what: 'lists in chunks of 997 bytes', rule: lists(split(997)) },
  { what: 'lists that end in the middle', rule: twice(halved) },
  { what: 'lists that are cut', rule: twice(cutInTheMiddle) },
  { what: 'lists without an answer', rule: twice(dropped) },
  {
    what: 'lists of a cache that is behind for a while',
    rule: lists(afterFirst(first(3, stale()))),
  },
  ...each(NOT_A_LIST, (text, name) => ({
    what: `lists answered with ${name}`,
    rule: twice(answered(text)),
  })),
  ...[401, 410, 500, 503, 504].map((status) => ({
    what: `lists refused with ${status}`,
    rule: twice(refused(status)),
  })),
  ...[410, 429, 500, 503].map((status) => ({
    what: `watches refused with ${status}`,
    rule: watches(first(2, refused(status, '1'))),
  })),
  { what: 'watches answered with HTML', rule: watches(first(2, answered(HTML))) },
  { what: 'watches answered with nothing', rule: watches(first(2, answered(''))) },
];

export const ANSWERS_TO_WRITES: CallFaults = () => [
  { what: 'lost answers', rule: once(lost) },
  { what: 'no connection', rule: once(dropped) },
  { what: 'late writes', rule: once(delayed(700)) },
  { what: 'answers in the middle of which the connection ends', rule: once(cutInTheMiddle) },
  { what: 'answers in chunks of seven bytes', rule: writes(split(7)) },
  { what: 'answers with an older version', rule: writes(older()) },
  ...each(NOT_A_LIST, (text, name) => ({
    what: `writes carried out and answered with ${name}`,
    rule: once(replaced(text)),
  })),
  { what: 'writes carried out and answered with 504', rule: once(replaced('late', 504)) },
  ...[302, 401, 403, 500, 502, 503, 504].map((status) => ({
    what: `writes refused with ${status}`,
    rule: once(refused(status)),
  })),
  { what: 'applies refused with 404', rule: when(isApply, once(refused(404))) },
  { what: 'writes refused with 409', rule: when(isNoDeletion, once(refused(409))) },
  ...each(RETRY_AFTER, (retryAfter, name) => ({
    what: `writes refused with 429 and Retry-After ${name}`,
    rule: once(refused(429, retryAfter)),
  })),
];
