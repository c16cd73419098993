import type { KubeObject } from './object.js';

/** A value of a document's field, as the site's database has it. */
export type FieldValue = string | number | boolean | null;

/**
 * A document as a site should have it, or should no longer have it. Only the fields that are given
 * are compared and written. Fields that the site's version does not have are skipped and named in
 * the result.
 */
export interface SiteDocument {
  readonly doctype: string;
  readonly name: string;
  /** `disabled`: the user is kept, but cannot log in. */
  readonly state: 'present' | 'absent' | 'disabled';
  readonly fields: Readonly<Record<string, FieldValue>>;
  /** Fields that hold JSON as text: compared as JSON values. */
  readonly json: Readonly<Record<string, unknown>>;
  /**
   * Child tables: these rows in this order and no others. Of each row only the given fields are
   * compared.
   */
  readonly tables: Readonly<Record<string, readonly Readonly<Record<string, FieldValue>>[]>>;
  /** Values from Secrets, by field. They are mounted as files, and are in no manifest. */
  readonly secrets: Readonly<Record<string, { readonly secret: string; readonly key: string }>>;
  /** Fields of `secrets` that are set in a new document only. @default none */
  readonly secretsWhenNew?: readonly string[];
  /** `present` only: a document that exists is not compared. @default false */
  readonly createOnly?: boolean;
  /** Documents that must exist. Of one batch, they are written before this one. */
  readonly needs: readonly { readonly doctype: string; readonly name: string }[];
  /**
   * `absent` and `disabled` only: a document that differs from this belongs to another owner, and
   * is kept.
   * @default every document is removed
   */
  readonly onlyAs?: Pick<SiteDocument, 'doctype' | 'name' | 'fields' | 'json' | 'tables'>;
}

/** What the script did with a document. */
export type DocumentOutcome =
  'Created' | 'Changed' | 'Unchanged' | 'Deleted' | 'Disabled' | 'Absent' | 'Failed';

/** A request of a resource to the document engine, in the operator's memory until it is done. */
export interface DocumentRequest extends KubeObject {
  readonly kind: 'DocumentRequest';
  /** Name of the AppSite, in the same namespace. */
  readonly site: string;
  /**
   * Twelve hexadecimal digits. They change with the content, and with each comparison that is due.
   */
  readonly id: string;
  readonly document: SiteDocument;
}

/** The result of a request, in the operator's memory, under the request's id. */
export interface DocumentResult extends KubeObject {
  readonly kind: 'DocumentResult';
  readonly outcome: DocumentOutcome;
  /** The message of the framework where it failed; else empty. */
  readonly message: string;
  /** Given fields that this version of the site does not have. */
  readonly ignored: readonly string[];
  /** When the Job ended, RFC 3339. */
  readonly time: string;
}
