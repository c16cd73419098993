/** API types of the kinds that act on a site: documents in it, backups of it, jobs in it. */
import type { NameRef } from '../kit/api.js';
import type { CommonStatus } from '../kit/condition.js';

/** A site, in the same namespace.
 * @cel self.name == oldSelf.name ;; siteRef is immutable: make a new object for another site */
export interface SiteRef extends NameRef {
  /** Name of the AppSite.
   * @minLength 1
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly name: string;
}

/** What every kind that acts on a site has in its spec. */
export interface SiteScoped {
  /** The site, in the same namespace. */
  readonly siteRef: SiteRef;
  /** Stops every write of the operator for this object while true. */
  readonly paused?: boolean;
}

/** What every kind that stands for a document of a site has in its spec. */
export interface DocumentScoped extends SiteScoped {
  /** How often the document is compared with this object, to undo changes made in the site; `0s` for never.
   * @default 1h */
  readonly resyncInterval: Duration;
}

/** What happens to the document when the object is deleted. */
export type DocumentDeletionPolicy = 'Delete' | 'Retain';

/** What is known of a document in a site. */
export interface DocumentStatus extends CommonStatus {
  /** Where the document is in its life. */
  readonly phase?: 'Pending' | 'Syncing' | 'Ready' | 'Failed' | 'Deleting';
  /** Name of the document in the site, once it was written. */
  readonly document?: string;
  /** What the last run did. */
  readonly outcome?: 'Created' | 'Changed' | 'Unchanged' | 'Failed';
  /** Hash of the last request, and of the site. */
  readonly documentHash?: string;
  /** Given fields that the site's version of the framework does not have.
   * @listType atomic */
  readonly ignoredFields?: readonly string[];
  /** When the document was last compared with this object.
   * @format date-time */
  readonly lastSyncTime?: string;
}

/** A length of time, such as `30s`, `10m` or `1h30m`.
 * @minLength 2
 * @maxLength 16
 * @pattern ^([0-9]+h)?([0-9]+m)?([0-9]+s)?$ */
export type Duration = string;

/** A name in an object's metadata.
 * @minLength 1
 * @maxLength 253
 * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
export type ObjectName = string;

/** Name of a document in a site: one line, no `<` or `>`, no space around it.
 * @minLength 1
 * @maxLength 140
 * @pattern ^[^ <>\x00-\x1f\x7f]([^<>\x00-\x1f\x7f]*[^ <>\x00-\x1f\x7f])?$ */
export type DocumentName = string;

/** Text of one line.
 * @minLength 1
 * @maxLength 140
 * @pattern ^[^\x00-\x1f\x7f]+$ */
export type Line = string;

/** Name of a field of a document.
 * @minLength 1
 * @maxLength 64
 * @pattern ^[A-Za-z_][A-Za-z0-9_]*$ */
export type FieldName = string;

/** An e-mail address in lower case: the framework names users by it.
 * @minLength 3
 * @maxLength 140
 * @pattern ^[A-Za-z0-9._%+'-]+@[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?([.][A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)+$
 * @cel self == self.lowerAscii() ;; must be in lower case: the framework stores it so
 * @cel !(self.lowerAscii() in ['administrator', 'guest', 'admin@example.com', 'guest@example.com']) ;; Administrator and Guest belong to the framework: they are no user of yours */
export type Email = string;

/** A colour: a name such as `Grey`, or `#rrggbb`.
 * @maxLength 32
 * @pattern ^(#[0-9a-fA-F]{6}|[A-Za-z]+([ -][A-Za-z]+)*)$ */
export type Color = string;

/** A key of a Secret. */
export interface PasswordRef {
  /** Name of the Secret, in the same namespace. */
  readonly name: ObjectName;
  /** Key in the Secret.
   * @default password
   * @minLength 1
   * @maxLength 253
   * @pattern ^[-._a-zA-Z0-9]+$ */
  readonly key: string;
}

/** A dashboard chart: of a SiteDashboardChart, or already in the site.
 * @cel has(self.name) != has(self.document) ;; give either name, of a SiteDashboardChart, or document, of a Dashboard Chart in the site */
export interface ChartRef {
  /** Name of a SiteDashboardChart of the same site and namespace. */
  readonly name?: ObjectName;
  /** Name of a Dashboard Chart in the site. */
  readonly document?: DocumentName;
}

/** A condition on a document's field.
 * @cel !(self.operator in ['in', 'not in', 'between']) || (has(self.values) && !has(self.value)) ;; operators in, not in and between take values, not value
 * @cel self.operator in ['in', 'not in', 'between'] || (has(self.value) && !has(self.values)) ;; operators other than in, not in and between take value, not values
 * @cel self.operator != 'between' || !has(self.values) || self.values.size() == 2 ;; operator between takes two values
 * @cel self.operator != 'is' || !has(self.value) || self.value in ['set', 'not set'] ;; operator is takes the value set or not set */
export interface DocumentFilter {
  /** Document type of the field; that of the chart or list when not given. */
  readonly documentType?: DocumentName;
  /** Name of the field. */
  readonly field: FieldName;
  /** How the field is compared.
   * @default = */
  readonly operator:
    | '='
    | '!='
    | '>'
    | '<'
    | '>='
    | '<='
    | 'like'
    | 'not like'
    | 'in'
    | 'not in'
    | 'between'
    | 'is'
    | 'timespan'
    | 'descendants of'
    | 'ancestors of'
    | 'not descendants of'
    | 'not ancestors of';
  /** The value to compare with.
   * @maxLength 1024 */
  readonly value?: string;
  /** The values to compare with.
   * @minItems 1
   * @maxItems 100
   * @listType atomic */
  readonly values?: readonly FilterValue[];
}

/** A value of a filter.
 * @maxLength 1024 */
export type FilterValue = string;

// Parts of the rules of a schedule: fields, then ranges whose end is before their start.
// <STEP> (/0*[1-9][0-9]*)?
// <MINUTE> ([*?]|0*[0-5]?[0-9](-0*[0-5]?[0-9])?)<STEP>
// <HOUR> ([*?]|0*(1?[0-9]|2[0-3])(-0*(1?[0-9]|2[0-3]))?)<STEP>
// <DAY> ([*?]|0*([1-9]|[12][0-9]|3[01])(-0*([1-9]|[12][0-9]|3[01]))?)<STEP>
// <NAMEDMONTH> 0*([1-9]|1[0-2])|[Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc]
// <MONTH> ([*?]|(<NAMEDMONTH>)(-(<NAMEDMONTH>))?)<STEP>
// <NAMEDDAY> 0*[0-6]|[Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt]
// <WEEKDAY> ([*?]|(<NAMEDDAY>)(-(<NAMEDDAY>))?)<STEP>
// <DOWN> [1-9][0-9]-0*[0-9]|[2-5][0-9]-0*1[0-9]|[345][0-9]-0*2[0-9]|[45][0-9]-0*3[0-9]|5[0-9]-0*4[0-9]|[1-9]-0*0|[2-9]-0*1|[3-9]-0*2|[4-9]-0*3|[5-9]-0*4|[6-9]-0*5|[7-9]-0*6|[8-9]-0*7|9-0*8
// <DOWNTEN> 1[1-9]-0*10|1[2-9]-0*11|1[3-9]-0*12|1[4-9]-0*13|1[5-9]-0*14|1[6-9]-0*15|1[7-9]-0*16|1[8-9]-0*17|19-0*18
// <DOWNTWENTY> 2[1-9]-0*20|2[2-9]-0*21|2[3-9]-0*22|2[4-9]-0*23|2[5-9]-0*24|2[6-9]-0*25|2[7-9]-0*26|2[8-9]-0*27|29-0*28
// <DOWNTHIRTY> 3[1-9]-0*30|3[2-9]-0*31|3[3-9]-0*32|3[4-9]-0*33|3[5-9]-0*34|3[6-9]-0*35|3[7-9]-0*36|3[8-9]-0*37|39-0*38
// <DOWNFORTY> 4[1-9]-0*40|4[2-9]-0*41|4[3-9]-0*42|4[4-9]-0*43|4[5-9]-0*44|4[6-9]-0*45|4[7-9]-0*46|4[8-9]-0*47|49-0*48
// <DOWNFIFTY> 5[1-9]-0*50|5[2-9]-0*51|5[3-9]-0*52|5[4-9]-0*53|5[5-9]-0*54|5[6-9]-0*55|5[7-9]-0*56|5[8-9]-0*57|59-0*58
// <DOWNMONTH> (feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)-jan|(mar|apr|may|jun|jul|aug|sep|oct|nov|dec)-feb|(apr|may|jun|jul|aug|sep|oct|nov|dec)-mar|(may|jun|jul|aug|sep|oct|nov|dec)-apr|(jun|jul|aug|sep|oct|nov|dec)-may|(jul|aug|sep|oct|nov|dec)-jun|(aug|sep|oct|nov|dec)-jul|(sep|oct|nov|dec)-aug|(oct|nov|dec)-sep|(nov|dec)-oct|(dec)-nov
// <DOWNDAY> (mon|tue|wed|thu|fri|sat)-sun|(tue|wed|thu|fri|sat)-mon|(wed|thu|fri|sat)-tue|(thu|fri|sat)-wed|(fri|sat)-thu|(sat)-fri

/** When something runs, in the five fields of cron, or as `@daily` and the like. As in Kubernetes, Sunday is 0.
 * @minLength 6
 * @maxLength 128
 * @pattern ^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|@every ([0-9]+([.][0-9]+)?(h|m|s))+|[0-9A-Za-z*?,/-]+( +[0-9A-Za-z*?,/-]+){4})$
 * @cel self.split(' ').filter(f, f != '').size() != 5 || self.matches('^<MINUTE>(,<MINUTE>)* +<HOUR>(,<HOUR>)* +<DAY>(,<DAY>)* +<MONTH>(,<MONTH>)* +<WEEKDAY>(,<WEEKDAY>)*$') ;; not a schedule of Kubernetes: minute 0-59, hour 0-23, day 1-31, month 1-12 or jan-dec, day of the week 0-6 or sun-sat, where Sunday is 0
 * @cel !self.lowerAscii().matches('(^|[ ,])(0*(<DOWN>|<DOWNTEN>|<DOWNTWENTY>|<DOWNTHIRTY>|<DOWNFORTY>|<DOWNFIFTY>)|<DOWNMONTH>|<DOWNDAY>)($|[ ,/])') ;; the end of a range is before its start: write sat,sun for sat-sun, and 22-23,0-4 for 22-4
 * @cel !self.lowerAscii().matches('^[^ ]+ +[^ ]+ +(0*3[01](-0*3[01])?(/[0-9]+)?(,0*3[01](-0*3[01])?(/[0-9]+)?)* +(0*2|feb)(-(0*2|feb))?(,(0*2|feb)(-(0*2|feb))?)*|0*31(-0*31)?(/[0-9]+)?(,0*31(-0*31)?(/[0-9]+)?)* +(0*(2|4|6|9|11)|feb|apr|jun|sep|nov)(,(0*(2|4|6|9|11)|feb|apr|jun|sep|nov))*) +[*?](/0*1)?$') ;; no such day comes in these months */
export type Schedule = string;

/** Name of a time zone in the IANA data base, such as `Europe/Berlin`.
 * @minLength 1
 * @maxLength 64
 * @pattern ^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$ */
export type TimeZone = string;
