import { stringify, type ScalarTag, type Tags } from 'yaml';

/**
 * Plain text that other parsers of YAML 1.1 read as another type, and our library as text: PyYAML fails on
 * `=`, the value of a mapping, and on `<<` where it is no key. A tag that would resolve such text makes the
 * library quote it.
 */
const RESERVED: ScalarTag = {
  tag: 'tag:yaml.org,2002:value',
  default: true,
  test: /^(=|<<)$/,
  identify: () => false,
  resolve: (text) => text,
};

/**
 * What a terminal obeys or does not show: controls, those of the direction of text, and what has no width.
 * Line breaks and tabs are no harm.
 */
const INVISIBLE = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/u;

/** The library escapes some of them only. */
const ESCAPED: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  identify: (value) => typeof value === 'string' && INVISIBLE.test(value),
  resolve: (text) => text,
  stringify: ({ value }) =>
    JSON.stringify(value).replaceAll(new RegExp(INVISIBLE, 'gu'), (character) => {
      const code = (character.codePointAt(0) ?? 0).toString(16);
      return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
    }),
};

/** The library writes `<<` with this tag, and so plain. */
function isMerge(tag: Tags[number]): boolean {
  return tag === 'merge' || (typeof tag !== 'string' && tag.tag === 'tag:yaml.org,2002:merge');
}

/**
 * Objects as a stream of YAML documents: equal objects give equal text. Text that YAML 1.1, the version of
 * kubectl, or YAML 1.2 would read as another type (`on`, `010`, `0o17`, `1:30`) is quoted.
 */
export function toYaml(objects: readonly object[]): string {
  return objects
    .map((object) =>
      stringify(object, {
        version: '1.1',
        compat: 'core',
        customTags: (tags) => [ESCAPED, ...tags.filter((tag) => !isMerge(tag)), RESERVED],
        lineWidth: 0,
        aliasDuplicateObjects: false,
      }),
    )
    .join('---\n');
}
