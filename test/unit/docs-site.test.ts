import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { projectRoot } from '../../testbed/project-root.js';
import { examplesPage, pageOf, pageText, sidebarOf, titleOf } from '../../tools/docs-site/pages.js';

const ROOT = projectRoot();
const everything = (): boolean => true;

describe('a page of the documentation site', () => {
  it('is a file in docs/, or one of four at the top', () => {
    assert.equal(pageOf('README.md')?.page, 'index.md');
    assert.equal(pageOf('docs/README.md')?.page, 'tasks.md');
    assert.equal(pageOf('docs/spec/README.md')?.page, 'spec/index.md');
    assert.equal(pageOf('docs/spec/appsite.md')?.page, 'spec/appsite.md');
    assert.equal(pageOf('CONTRIBUTING.md')?.page, 'contributing/index.md');
    assert.equal(pageOf('test/golden/README.md'), undefined);
    assert.equal(pageOf('docs/pictures/status.svg'), undefined);
  });

  const page = { file: 'docs/spec/appsite.md', page: 'spec/appsite.md' };
  const links: readonly (readonly [written: string, shown: string])[] = [
    ['[a](../users.md#create-a-user)', '[a](../users.md#create-a-user)'],
    ['[a](README.md)', '[a](./index.md)'],
    ['[a](../README.md)', '[a](../tasks.md)'],
    ['[a](../../README.md)', '[a](../index.md)'],
    ['[a](../../CONTRIBUTING.md)', '[a](../contributing/index.md)'],
    ['[a](../../examples/bench.yaml)', '[a](../examples.md#benchyaml)'],
    ['[a](../../examples)', '[a](../examples.md)'],
    ['[`run.ts`](../../test/run.ts)', '`run.ts`'],
    ['[a](https://example.com/b)', '[a](https://example.com/b)'],
    ['[a](#fields)', '[a](#fields)'],
    ['![a](../pictures/status.svg)', '![a](../pictures/status.svg)'],
    ['```md\n[a](../../test/run.ts)\n```', '```md\n[a](../../test/run.ts)\n```'],
    ['<!-- fields -->\ntext', 'text'],
  ];
  for (const [written, shown] of links)
    it(`shows ${JSON.stringify(written)} as ${JSON.stringify(shown)}`, () => {
      assert.equal(pageText(page, written, everything), shown);
    });

  it('names a link that leads to nothing', () => {
    assert.throws(
      () => pageText(page, '[a](../../lost.ts)', () => false),
      /^Error: docs\/spec\/appsite\.md: link to \.\.\/\.\.\/lost\.ts: no such file in the repository$/,
    );
  });

  it('has the first heading outside of code as its title', () => {
    assert.equal(titleOf('a.md', '```sh\n# no\n```\n# The `title`\n'), 'The title');
    assert.throws(() => titleOf('a.md', 'text'), /a\.md: no heading of level 1/);
  });
});

describe('the pages of this repository', () => {
  const files = readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
  const pages = files
    .map((file) => `docs/${file}`)
    .concat('README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md')
    .flatMap((file) => pageOf(file) ?? []);
  const text = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
  const titles = new Map(pages.map(({ file, page }) => [page, titleOf(file, text(file))]));

  it('are in the navigation once each', () => {
    const links = sidebarOf(text('docs/README.md'), titles).flatMap(({ items }) =>
      items.map(({ link }) => link),
    );
    const expected = [...titles.keys()].filter((page) => page !== 'index.md');
    assert.deepEqual(
      links.sort(),
      expected.map((page) => `/${page.replace(/(index)?\.md$/, '')}`).sort(),
    );
  });

  it('are in the groups of the index', () => {
    const groups = sidebarOf(text('docs/README.md'), titles);
    const names = groups.map(({ text: name }) => name);
    assert.deepEqual(names.slice(0, 6), [
      'Start',
      'Operate',
      'Data',
      'Network',
      'Security',
      'Reference',
    ]);
    const links = (name: string) =>
      groups.find((group) => group.text === name)?.items.map(({ link }) => link) ?? [];
    assert.deepEqual(links('Start').slice(0, 2), ['/tasks', '/concepts']);
    assert.ok(links('Data').includes('/restore'));
    assert.ok(!names.includes('More'), String(links('More')));
  });

  it('have one page of all examples', () => {
    const shown = examplesPage({ 'bench.yaml': 'kind: AppBench\n' });
    assert.match(shown, /^# Examples\n[^]*## bench\.yaml\n\n```yaml\nkind: AppBench\n```\n$/);
  });
});

describe('a lock file', () => {
  interface Lock {
    readonly packages: Readonly<
      Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>
    >;
  }
  for (const file of ['package-lock.json', 'tools/docs-site/site/package-lock.json'])
    it(`${file} has the packages of every platform, so that npm ci takes it`, () => {
      const { packages } = JSON.parse(readFileSync(path.join(ROOT, file), 'utf8')) as Lock;
      const locked = new Set(
        Object.keys(packages).map((name) => name.split('node_modules/').at(-1)),
      );
      const missing = Object.values(packages)
        .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
        .filter((name) => !locked.has(name));
      assert.deepEqual(missing, []);
    });
});
