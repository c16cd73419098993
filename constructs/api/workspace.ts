import type { Resource } from '../kit/object.js';
import type {
  ChartRef,
  Color,
  DocumentDeletionPolicy,
  DocumentFilter,
  DocumentName,
  DocumentScoped,
  DocumentStatus,
  Email,
  Line,
} from './site-scoped.js';

/** A workspace of a site's desk. */
export type SiteWorkspace = Resource<SiteWorkspaceSpec, SiteWorkspaceStatus>;

/** What the workspace should be.
 * @cel has(self.forUser) == has(oldSelf.forUser) && (!has(self.forUser) || self.forUser == oldSelf.forUser) ;; forUser is immutable: it is part of the workspace's name
 * @cel !has(self.forUser) || self.title.size() + self.forUser.size() < 140 ;; title and forUser are too long: the workspace's name in the site holds both, with a hyphen between, in 140 characters
 * @cel !has(self.parentPage) || self.parentPage != self.title ;; parentPage must be another workspace
 * @cel self.type != 'Link' || (has(self.linkType) && has(self.linkTo)) ;; type Link needs linkType and linkTo
 * @cel self.type == 'Link' || !(has(self.linkType) || has(self.linkTo)) ;; linkType and linkTo belong to type Link
 * @cel self.type == 'URL' ? has(self.externalLink) : !has(self.externalLink) ;; type URL needs externalLink, which belongs to no other type
 * @cel !has(self.blocks) || self.blocks.all(b, b.type != 'shortcut' || (has(self.shortcuts) && self.shortcuts.exists(s, s.label == b.label))) ;; a block of type shortcut needs the label of an item in shortcuts
 * @cel !has(self.blocks) || self.blocks.all(b, b.type != 'card' || (has(self.cards) && self.cards.exists(c, c.label == b.label))) ;; a block of type card needs the label of an item in cards
 * @cel !has(self.blocks) || self.blocks.all(b, b.type != 'chart' || (has(self.charts) && self.charts.exists(c, c.label == b.label))) ;; a block of type chart needs the label of an item in charts
 * @cel !has(self.blocks) || self.blocks.all(b, b.type != 'numberCard' || (has(self.numberCards) && self.numberCards.exists(c, c.label == b.label))) ;; a block of type numberCard needs the label of an item in numberCards
 * @cel !has(self.blocks) || self.blocks.all(b, b.type != 'quickList' || (has(self.quickLists) && self.quickLists.exists(q, q.label == b.label))) ;; a block of type quickList needs the label of an item in quickLists
 * @cel !has(self.blocks) || self.blocks.all(b, b.type != 'customBlock' || (has(self.customBlocks) && self.customBlocks.exists(c, c.label == b.label))) ;; a block of type customBlock needs the label of an item in customBlocks */
export interface SiteWorkspaceSpec extends DocumentScoped {
  /** Title. A public workspace is named by it, a private one by it and its user.
   * @cel self == oldSelf ;; title is immutable: it is the workspace's name in the site */
  readonly title: DocumentName;
  /** The one user who sees the workspace; everybody with its roles when not given. */
  readonly forUser?: Email;
  /** What the workspace is, from version-16 on.
   * @default Workspace */
  readonly type: 'Workspace' | 'Link' | 'URL';
  /** Kind of the target of type Link. */
  readonly linkType?: 'DocType' | 'Page' | 'Report';
  /** Target of type Link. */
  readonly linkTo?: DocumentName;
  /** Target of type URL.
   * @maxLength 2048
   * @pattern ^(https?://[^ \x00-\x1f\x7f]+|/[^ \x00-\x1f\x7f]*)$ */
  readonly externalLink?: string;
  /** Application that the workspace is shown with, from version-16 on. */
  readonly app?: DocumentName;
  /** Module that the workspace belongs to. */
  readonly module?: DocumentName;
  /** Name of an icon of the desk.
   * @maxLength 64
   * @pattern ^[A-Za-z0-9_-]+$ */
  readonly icon?: string;
  /** Colour of the mark beside the title, from version-15 on. */
  readonly indicatorColor?:
    | 'green'
    | 'cyan'
    | 'blue'
    | 'orange'
    | 'yellow'
    | 'gray'
    | 'grey'
    | 'red'
    | 'pink'
    | 'darkgrey'
    | 'purple'
    | 'light-blue';
  /** Title of the workspace that this one stands below. */
  readonly parentPage?: DocumentName;
  /** Place among the workspaces: lower ones come first.
   * @type integer
   * @format int32
   * @minimum 0
   * @maximum 100000 */
  readonly sequenceId?: number;
  /** Whether the workspace is left out of the side bar.
   * @default false */
  readonly hidden: boolean;
  /** What the page shows, in order. By default everything below, in the order of this document.
   * @maxItems 100
   * @listType atomic */
  readonly blocks?: readonly WorkspaceBlock[];
  /** Shortcuts.
   * @maxItems 50
   * @listType map
   * @listMapKey label */
  readonly shortcuts?: readonly WorkspaceShortcut[];
  /** Cards of links.
   * @maxItems 50
   * @listType map
   * @listMapKey label */
  readonly cards?: readonly WorkspaceCard[];
  /** Charts.
   * @maxItems 20
   * @listType map
   * @listMapKey label */
  readonly charts?: readonly WorkspaceChart[];
  /** Number cards.
   * @maxItems 50
   * @listType map
   * @listMapKey label */
  readonly numberCards?: readonly WorkspaceNumberCard[];
  /** Short lists of documents.
   * @maxItems 20
   * @listType map
   * @listMapKey label */
  readonly quickLists?: readonly WorkspaceQuickList[];
  /** Custom HTML blocks.
   * @maxItems 20
   * @listType map
   * @listMapKey label */
  readonly customBlocks?: readonly WorkspaceCustomBlock[];
  /** Roles that see the workspace; everybody when not given.
   * @maxItems 100
   * @listType set */
  readonly roles?: readonly DocumentName[];
  /** What happens to the workspace when the object is deleted.
   * @default Delete */
  readonly deletionPolicy: DocumentDeletionPolicy;
}

/** A part of the page.
 * @cel !(self.type in ['header', 'paragraph']) || has(self.text) ;; types header and paragraph need text
 * @cel self.type in ['header', 'paragraph'] || !has(self.text) ;; text belongs to types header and paragraph
 * @cel self.type in ['header', 'paragraph', 'spacer'] != has(self.label) ;; every type but header, paragraph and spacer needs a label, and those have none */
export interface WorkspaceBlock {
  /** What it shows. */
  readonly type:
    | 'header'
    | 'paragraph'
    | 'spacer'
    | 'shortcut'
    | 'card'
    | 'chart'
    | 'numberCard'
    | 'quickList'
    | 'onboarding'
    | 'customBlock';
  /** Text of a header or a paragraph; may hold simple HTML, as in the desk.
   * @minLength 1
   * @maxLength 4096 */
  readonly text?: string;
  /** Label of the shortcut, card, chart … that it shows; the name of the Module Onboarding for `onboarding`. */
  readonly label?: DocumentName;
  /** Width in twelfths of the page. As in the desk: 3 for a shortcut, 4 for a card, a number card or a quick list, 12 for the others when not given.
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 12 */
  readonly columns?: number;
}

/** A shortcut.
 * @cel self.type == 'URL' ? has(self.url) && !has(self.linkTo) : has(self.linkTo) && !has(self.url) ;; type URL takes url, every other type takes linkTo
 * @cel !has(self.docView) || self.type == 'DocType' ;; docView belongs to type DocType
 * @cel !has(self.filters) || self.type == 'DocType' ;; filters belong to type DocType */
export interface WorkspaceShortcut {
  /** Text of the shortcut. */
  readonly label: DocumentName;
  /** Kind of its target. */
  readonly type: 'DocType' | 'Report' | 'Page' | 'Dashboard' | 'URL';
  /** Name of the target. */
  readonly linkTo?: DocumentName;
  /** Address of the target.
   * @maxLength 2048
   * @pattern ^(https?://[^ \x00-\x1f\x7f]+|/[^ \x00-\x1f\x7f]*)$ */
  readonly url?: string;
  /** View that a document type opens in. */
  readonly docView?:
    'List' | 'Report Builder' | 'Dashboard' | 'Tree' | 'New' | 'Calendar' | 'Kanban' | 'Image';
  /** Colour of the count. */
  readonly color?: Color;
  /** Text of the count, such as `{} open`. */
  readonly format?: Line;
  /** What is counted.
   * @maxItems 20
   * @listType atomic */
  readonly filters?: readonly DocumentFilter[];
}

/** A card of links. */
export interface WorkspaceCard {
  /** Title of the card. */
  readonly label: DocumentName;
  /** Whether the card is left out.
   * @default false */
  readonly hidden: boolean;
  /** The links.
   * @maxItems 50
   * @listType map
   * @listMapKey label */
  readonly links?: readonly WorkspaceLink[];
}

/** A link on a card. */
export interface WorkspaceLink {
  /** Text of the link. */
  readonly label: DocumentName;
  /** Kind of its target.
   * @default DocType */
  readonly type: 'DocType' | 'Page' | 'Report';
  /** Name of the target. */
  readonly linkTo: DocumentName;
  /** Whether a report is a query or script report.
   * @default false */
  readonly queryReport: boolean;
  /** Whether the link is marked for new users.
   * @default false */
  readonly onboard: boolean;
  /** Whether the link is left out.
   * @default false */
  readonly hidden: boolean;
}

/** A chart on the page. */
export interface WorkspaceChart {
  /** Title over the chart. */
  readonly label: DocumentName;
  /** The chart. */
  readonly chart: ChartRef;
}

/** A number card on the page. */
export interface WorkspaceNumberCard {
  /** Title over the number. */
  readonly label: DocumentName;
  /** Name of the Number Card in the site. */
  readonly document: DocumentName;
}

/** A short list of documents. */
export interface WorkspaceQuickList {
  /** Title over the list. */
  readonly label: DocumentName;
  /** Document type of the list. */
  readonly documentType: DocumentName;
  /** What is listed.
   * @maxItems 20
   * @listType atomic */
  readonly filters?: readonly DocumentFilter[];
}

/** A custom HTML block on the page. */
export interface WorkspaceCustomBlock {
  /** Title over the block. */
  readonly label: DocumentName;
  /** Name of the Custom HTML Block in the site. */
  readonly document: DocumentName;
}

/** What the workspace is. */
export interface SiteWorkspaceStatus extends DocumentStatus {
  /** Charts that the workspace waits for.
   * @listType set */
  readonly missing?: readonly string[];
}
