import {
  ConversionError,
  convert,
  type KindVersion,
  type Versioned,
} from '../../constructs/kit/conversion.js';
import { isObject } from '../../constructs/kit/json/is-object.js';
import { BadReview } from './review.js';

const REVIEW_VERSION = 'apiextensions.k8s.io/v1';

interface ConversionRequest {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly Versioned[];
}

/**
 * Answers a ConversionReview for the kinds of a group.
 *
 * @throws BadReview
 */
export function convertReview(
  body: string,
  group: string,
  versions: readonly KindVersion[],
): string {
  const { uid, desiredAPIVersion, objects } = requestOf(body);
  const [wantedGroup, wanted = ''] = desiredAPIVersion.split('/');
  let answer: object;
  try {
    if (wantedGroup !== group) throw new ConversionError(`unknown API group: "${wantedGroup}"`);
    const convertedObjects = objects.map((object) => convert(object, wanted, versions));
    answer = { convertedObjects, result: { status: 'Success' } };
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    answer = { convertedObjects: [], result: { status: 'Failure', message: error.message } };
  }
  return JSON.stringify({
    apiVersion: REVIEW_VERSION,
    kind: 'ConversionReview',
    response: { uid, ...answer },
  });
}

function requestOf(body: string): ConversionRequest {
  let review: unknown;
  try {
    review = JSON.parse(body);
  } catch {
    throw new BadReview('body: not JSON');
  }
  if (!isObject(review) || review['kind'] !== 'ConversionReview') {
    throw new BadReview('body: not a ConversionReview');
  }
  if (review['apiVersion'] !== REVIEW_VERSION) {
    throw new BadReview(`ConversionReview: unsupported version; expected ${REVIEW_VERSION}`);
  }
  const { request } = review;
  if (!isConversionRequest(request)) throw new BadReview('ConversionReview: incomplete request');
  return request;
}

function isConversionRequest(request: unknown): request is ConversionRequest {
  if (!isObject(request)) return false;
  const { uid, desiredAPIVersion, objects } = request;
  return (
    typeof uid === 'string' &&
    typeof desiredAPIVersion === 'string' &&
    Array.isArray(objects) &&
    objects.every(isVersioned)
  );
}

function isVersioned(object: unknown): object is Versioned {
  return (
    isObject(object) &&
    typeof object['apiVersion'] === 'string' &&
    typeof object['kind'] === 'string' &&
    isObject(object['metadata'])
  );
}
