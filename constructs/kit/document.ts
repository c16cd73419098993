import type { KubeObject } from './object.js';

/** A value of a document's field, as the site's database has it. */
export type FieldValue = string | number | boolean | null;

/**
 * A document as a site should have it, or should no longer have it. Only the fields that are given are
 * compared and written; those that the site's version does not have are left out and named in the result.
 */
export interface SiteDocument {
  readonly doctype: string;
  readonly name: string;
  /** `disabled` is for users that are to stay, but cannot log in any more. */
  readonly state: 'present' | 'absent' | 'disabled';
  readonly fields: Readonly<Record<string, FieldValue>>;
  /** Fields that hold JSON as text: compared by what they say, not by how they are written. */
  readonly json: Readonly<Record<string, unknown>>;
  /** Child tables: these rows in this order and no others. Of each row only the given fields are compared. */
  readonly tables: Readonly<Record<string, readonly Readonly<Record<string, FieldValue>>[]>>;
  /** Values that come from Secrets, by field. They reach the script as files, and stand in no manifest. */
  readonly secrets: Readonly<Record<string, { readonly secret: string; readonly key: string }>>;
  /** Secrets that are only for a document that is not there yet. @default none */
  readonly secretsWhenNew?: readonly string[];
  /** Documents that must be there first. They are written before this one where they are in the same batch. */
  readonly needs: readonly { readonly doctype: string; readonly name: string }[];
  /** `absent` and `disabled` only: one that differs from this is somebody else's, and left alone. @default whatever it is like */
  readonly onlyAs?: Pick<SiteDocument, 'doctype' | 'name' | 'fields' | 'json' | 'tables'>;
}

/** What the script did with a document. */
export type DocumentOutcome =
  'Created' | 'Changed' | 'Unchanged' | 'Deleted' | 'Disabled' | 'Absent' | 'Failed';

/** What a resource asks of the document engine, as a note: it is there as long as there is something to do. */
export interface DocumentRequest extends KubeObject {
  readonly kind: 'DocumentRequest';
  /** Name of the AppSite, in the same namespace. */
  readonly site: string;
  /** Twelve hexadecimal digits: another one for each content, and for each time that it is to be compared. */
  readonly id: string;
  readonly document: SiteDocument;
}

/** What came of a request, as a note. It is named by the request's id. */
export interface DocumentResult extends KubeObject {
  readonly kind: 'DocumentResult';
  readonly outcome: DocumentOutcome;
  /** The framework's own words, where it failed; else empty. */
  readonly message: string;
  /** Given fields that this version of the site does not have. */
  readonly ignored: readonly string[];
  /** When the Job ended, RFC 3339. */
  readonly time: string;
}
