import type { Problem, Stalled, Waiting } from './errors.js';

/** A field of a resource, as messages begin with it. */
const FIELD = String.raw`(?:spec|metadata)(?:[.\[][\w.\[\]/-]*)?`;
const BEGINS = new RegExp(`^(${FIELD}): (.*)$`, 's');
const NEXT = new RegExp(`; (?=${FIELD}: )`);

/** What an error says to a user, apart by field: the words of the Ready condition. */
export function problemsOf({ message }: Stalled | Waiting): readonly Problem[] {
  return message.split(NEXT).map((part) => {
    const [, path = 'spec', what = part] = BEGINS.exec(part) ?? [];
    return { path, message: what };
  });
}
