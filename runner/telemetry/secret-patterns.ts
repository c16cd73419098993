/**
 * The rules by which secrets are recognized in text, for the log of the operator and for the files of a
 * report. Every search is linear: the log of a container may be one line of a megabyte.
 */

/** A word in the names of secrets. */
const SECRET_WORD = [
  'pass(?:word|wd|phrase)',
  'pwd?(?![a-z])',
  '(?<![a-z])pin(?![a-z])',
  'rediscli_auth',
  'token',
  'secret',
  'credential',
  'authorization',
  'cookie',
  '(?:api|private|encryption|access|account|signing)[-_]?key',
]
  .join('|')
  .replace(/^.*$/, '(?:$&)');
/** A whole name with a secret word after its first `--`. */
export const SECRET_FLAG = `(?<![\\w-])(?=\\w*(?:-\\w+)*--[\\w-]*${SECRET_WORD})[\\w-]+(?![\\w-])`;

const SECRET_NAME = new RegExp(SECRET_WORD, 'i');
/** Names of secrets whose values may be numbers: `tokenExpirationSeconds` is none. */
const PASSWORD_NAME = /pass(?:word|wd|phrase)$|pwd?$|(?<![a-z])pin$/i;
/**
 * The end of names of references, which are not secret: `secretName`, `passwordSecretRef`, and where
 * an identity provider gives tokens.
 */
const REFERENCE = /(?:ref|name|namespace|fromenv|file|path|version|access_?token_?url)s?$/i;
/** Values that are not secret: none, a boolean, a lone quote, and a redacted value. */
const NO_VALUE = /^(?:null|true|false|["']{0,2}|["']?\[redacted\]\\?["']?)$/;

/**
 * The text of a value: in quotes, which may be nested in quoted text, or up to the next space or separator.
 * An escaped quote does not end the value. A missing end quote is accepted, since logs may be cut off.
 */
const VALUE = [
  /(?<=\\)"(?:[^"\\\n]|\\{4}|\\{3}"|\\{1,3}(?!["\\]))*(?:\\{0,2}")?/,
  /"(?:[^"\\\n]|\\.)*"?/,
  /'(?:[^'\\\n]|\\.|'')*'?/,
  /[^\s,;}&"']+/,
]
  .map(({ source }) => source)
  .join('|');
/** Before the name of an object, as in `Secret/shop-password: created`. */
const OBJECT = '(?<!\\b(?:Secret|ConfigMap|Job|Deployment|Service|Pod|App\\w+|Site\\w+)\\/)';
/** A whole name with a secret word. The search starts only at the beginning of a name. */
const NAME = `${OBJECT}(?<![\\w-])(?=[\\w-]*${SECRET_WORD})[\\w-]+(?![\\w-])`;
/** The separator of two arguments: space, or the separator of items in JSON or YAML. */
const NEXT = `(?:\\\\?["']\\s*,\\s*\\\\?|["']?[^\\S\\n]*(?:\\n|\\\\n)\\s*-\\s+|\\s+)`;
const QUOTE = `\\\\?["']?`;
/** A slash of a URL, which JSON may escape. */
const SLASH = `\\\\?\\/`;
const URL_TEXT = `[^\\s"'<>\\\\]+`;

/** A word that contains the name of a database client. The search starts only at the beginning of a word. */
const CLIENT = `(?<![\\w-])(?=[\\w-]*\\b(?:mysql|mariadb))[\\w-]+(?![\\w-])`;
/** In a word, before a token: the search starts only at the beginning of a word. */
const IN_WORD = `(?<![\\w-])[\\w-]*?(?<![A-Za-z0-9])`;

/** Formats that are secrets wherever they are found. */
const TOKENS: readonly string[] = [
  // Amazon, Alibaba, Google, Azure
  '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}',
  'LTAI[A-Za-z0-9]{12,}',
  'AIza[\\w-]{30,}',
  'ya29\\.[\\w-]{10,}',
  'GOCSPX-[\\w-]{10,}',
  '[\\w~.-]{3}8Q~[\\w~.-]{31,}',
  // GitHub, GitLab, npm, PyPI
  'gh[oprsu]_[A-Za-z0-9]{16,}',
  'github_pat_\\w{16,}',
  'gl[a-z]{2,5}-[\\w-]{16,}',
  'npm_[A-Za-z0-9]{20,}',
  'pypi-[\\w-]{16,}',
  // Slack, Telegram, SendGrid, Mailgun, Stripe, Razorpay
  'xox[a-z]-[\\w-]{8,}',
  'xapp-[\\w-]{8,}',
  '\\d{8,10}:AA[\\w-]{30,}',
  'SG\\.[\\w-]{16,}\\.[\\w-]{16,}',
  'key-[0-9a-f]{32}',
  '(?:[prs]k|rzp)_(?:live|test)_[A-Za-z0-9]{10,}',
  // Hugging Face, DigitalOcean, Vault, age
  'hf_[A-Za-z0-9]{20,}',
  'do[opr]_v1_[0-9a-f]{20,}',
  'hv[bs]\\.[\\w-]{20,}',
  'AGE-SECRET-KEY-1[A-Z0-9]{20,}',
];

/** Hosts of which the path is a secret: who knows it may send messages. */
const WEBHOOKS: readonly string[] = [
  `hooks\\.slack(?:-gov)?\\.com`,
  `(?:\\w+\\.)?discord(?:app)?\\.com${SLASH}api${SLASH}(?:v\\d+${SLASH})?webhooks`,
  `[\\w-]+\\.webhook\\.office\\.com`,
  `outlook\\.office(?:365)?\\.com${SLASH}webhook`,
  `[\\w.-]+\\.logic\\.azure\\.com`,
  `[\\w.-]+\\.powerplatform\\.com`,
  `chat\\.googleapis\\.com`,
  `hooks\\.zapier\\.com`,
];

/** A secret in text: `name` stays, `value` is replaced. */
interface Rule {
  readonly pattern: RegExp;
  readonly isSecret?: (value: string, name: string) => boolean;
}

/** The order matters: the first rule that knows a value replaces it whole. */
const RULES: readonly Rule[] = [
  // Private keys in PEM, also those whose begin or end is cut off.
  {
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:(?!-----BEGIN)[\s\S]){0,16000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:[A-Za-z0-9+/=\s]|\\[nr])*)/g,
  },
  { pattern: /^(?:[A-Za-z0-9+/=]+\s+)+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g },
  {
    pattern: new RegExp(
      `(?<name>https?:${SLASH}${SLASH}(?:${WEBHOOKS.join('|')})(?::\\d+)?${SLASH})(?<value>${URL_TEXT})`,
      'gi',
    ),
  },
  { pattern: /(?<name>api\.telegram\.org\\?\/bot)(?<value>[^\s"'<>\\/]+)/gi },
  // Signatures and keys in the query of a URL.
  {
    pattern:
      /(?<name>[?&](?:sig|signature|key|code|auth|x-amz-(?:signature|credential))=)(?<value>[^\s&"'<>\\]+)/gi,
  },
  { pattern: /(?<name>\b(?:Bearer|Basic)\s+)(?<value>[A-Za-z0-9._~+/=-]{6,})/gi },
  {
    pattern: /(?<name>\bauthorization\\?["']?\s*[:=]\s*\\?["']?token\s+)(?<value>[^\s"',\\]+)/gi,
  },
  // Passwords in URLs, and users that are tokens.
  { pattern: /(?<name>:\/\/[^\s/:@"]*:)(?<value>[^\s/"]+)(?=@)/g },
  { pattern: /(?<name>:\/\/)(?<value>[\w-]{20,})(?=@)/g },
  { pattern: /(?<name>(?<![\w.-])[\w.-]{1,64}:)(?<value>[^\s@/"']{1,128})(?=@(?:tcp|unix)\()/g },
  // JSON Web Tokens. Of a word without a dot after it, nothing else is read.
  {
    pattern: new RegExp(
      `(?<name>(?=(?<![\\w-])[\\w-]+\\.[\\w-]{5})${IN_WORD})(?<value>eyJ[\\w-]{5,}\\.[\\w-]{5,}(?:\\.[\\w-]*){0,3})`,
      'g',
    ),
  },
  { pattern: new RegExp(`(?<![A-Za-z0-9])(?:${TOKENS.join('|')})`, 'g') },
  // Keys of Anthropic and OpenAI.
  {
    pattern: new RegExp(`(?<name>${IN_WORD})(?<value>sk-[\\w-]{20,})`, 'g'),
    isSecret: (value) => /\d/.test(value),
  },
  // Secret access keys of Amazon: 40 characters in mixed case. Hashes and names are in lower case.
  {
    pattern: /(?<![\w/+.@-])[A-Za-z0-9/+]{40}(?![\w/+=-])/g,
    isSecret: (value) =>
      /\d/.test(value) && /(?:[A-Z][^A-Z]*){5}/.test(value) && /(?:[a-z][^a-z]*){5}/.test(value),
  },
  // `bench set-config KEY VALUE`, `bench set-admin-password VALUE`.
  {
    pattern: new RegExp(
      `(?<name>\\bset-config(?:${NEXT}${QUOTE}-{1,2}[\\w-]+){0,4}${NEXT}${QUOTE}[\\w.]+${NEXT})(?<value>${VALUE})`,
      'gi',
    ),
    isSecret: isSecretConfiguration,
  },
  {
    pattern: new RegExp(`(?<name>\\bset-(?:admin-)?password${NEXT})(?<value>${VALUE})`, 'gi'),
    isSecret: isSecretValue,
  },
  // Database clients: `mysql -psecret`, `redis-cli -a secret`; SQL.
  { pattern: new RegExp(`(?<name>${CLIENT}[^\\n|;]{1,200}?\\s-p)(?<value>[^\\s"'\\\\]+)`, 'g') },
  { pattern: new RegExp(`(?<name>${CLIENT}\\s-p)(?<value>[^\\s"'\\\\]+)`, 'g') },
  { pattern: /(?<name>\bredis-cli\b[^\n|;]{0,200}?\s-a\s+)(?<value>[^\s"'\\]+)/g },
  { pattern: /(?<name>\b(?:curl|wget)\b[^\n|;]{0,200}?\s(?:-u|--user)\s+[^\s:]+:)(?<value>\S+)/g },
  { pattern: /(?<name>\bidentified\s+by\s+(?:password\s+)?)(?<value>'[^'\n]+'|"[^"\n]+")/gi },
  // `password=x`, `"api_key": "x"`, and `--token x`.
  {
    pattern: new RegExp(`(?<name>${NAME}\\\\?["']?\\s*[:=]\\s*\\\\?)(?<value>${VALUE})`, 'gi'),
    isSecret: isSecretNamed,
  },
  {
    pattern: new RegExp(`(?<name>${SECRET_FLAG}${NEXT})(?<value>${VALUE})`, 'gi'),
    isSecret: isSecretValue,
  },
  // Prose: `the password is hunter2`, `pin 4711`.
  {
    pattern:
      /(?<name>(?<![\w-])(?:password|passwd|passphrase|pwd?)\s+(?:(?:is|was|to)\s+)?)(?<value>"[^"\\\n]+"|'[^'\\\n]+')/gi,
    isSecret: isSecretValue,
  },
  {
    pattern:
      /(?<name>(?<![\w-])(?:password|passwd|passphrase|pwd?)\s+(?:(?:is|was|to)\s+|(?:for|of)\s+\S+\s+)?)(?<value>[^\s"'\\,;[\]]{6,})/gi,
    isSecret: isPasswordLike,
  },
  {
    pattern: /(?<name>(?<![\w-])(?:token|api[ -]key)\s+(?:is\s+)?)(?<value>[\w+/=.~-]{16,})/gi,
    isSecret: isPasswordLike,
  },
  { pattern: /(?<name>(?<![\w-])pin\s+(?:(?:code|is)\s+)?)(?<value>\d{4,10})\b/gi },
];

/** The text with each secret replaced. */
export function replaceSecrets(text: string, replacement: () => string): string {
  return RULES.reduce(
    (redacted, { pattern, isSecret = () => true }) =>
      redacted.replaceAll(pattern, (match: string, ...args: unknown[]) => {
        const groups = args.at(-1);
        const { name = '', value = match } =
          typeof groups === 'object' ? (groups as Readonly<Record<string, string>>) : {};
        return isSecret(value, name) ? name + replacement() : match;
      }),
    text,
  );
}

/** Whether a text that follows a secret name is a value to redact. */
export function isSecretValue(text: string): boolean {
  return !NO_VALUE.test(text);
}

/** Whether a name is that of a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !REFERENCE.test(name);
}

/** Whether a variable holds a secret. `MYSQL_PWD` does, `PWD` is a folder. */
export function isSecretVariable(name: string, value: string): boolean {
  if (/^(?:old)?pwd$/i.test(name) && /^["']?\//.test(value)) return false;
  return SECRET_NAME.test(name);
}

/** Whether the value of a name is a secret though it is a number. Sizes of passwords are smaller. */
export function isSecretNumber(name: string, value: number): boolean {
  return PASSWORD_NAME.test(name) && value >= 1_000;
}

/** Whether the item is the value of `set-config KEY VALUE` in a list of arguments. */
export function isConfigurationValue(items: readonly unknown[], index: number): boolean {
  const isFlag = (item: unknown): boolean => typeof item === 'string' && item.startsWith('-');
  let command = index - 2;
  while (isFlag(items[command])) command -= 1;
  const isKey = !isFlag(items[index - 1]);
  const isPassword = /^set-(?:admin-)?password$/.test(String(items[index - 1]));
  return (
    isPassword ||
    (isKey && items[command] === 'set-config' && isSecretConfiguration(String(items[index])))
  );
}

/** The whole value of `set-config` is redacted: its key may have any name. Switches stay. */
function isSecretConfiguration(value: string): boolean {
  return isSecretValue(value) && !/^["']?\d{1,2}["']?$/.test(value);
}

function isSecretNamed(value: string, matched: string): boolean {
  const [name = ''] = /^[\w-]+/.exec(matched) ?? [];
  return isSecretValue(value) && !REFERENCE.test(name) && isSecretVariable(name, value);
}

/** A word of prose that is no word of a language: it has digits and letters, or other characters. */
function isPasswordLike(value: string): boolean {
  const word = value.replace(/(?<![.:!?)])[.:!?)]+$/, '');
  return (/\d/.test(word) && /[a-z]/i.test(word)) || /\w[!@#$%^&*+~]/.test(word);
}
