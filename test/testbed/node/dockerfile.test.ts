import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, suite, test } from 'node:test';

import { projectRoot } from '../../../testbed/project-root.js';
import { buildDockerfile } from '../../../testbed/images/dockerfile.js';

suite('the content of a Dockerfile', () => {
  const { APP_OPERATOR_CACHE } = process.env;
  let context: string;

  beforeEach(() => {
    context = mkdtempSync(path.join(tmpdir(), 'app-operator-dockerfile-'));
    process.env.APP_OPERATOR_CACHE = path.join(context, '.cache');
    mkdirSync(path.join(context, 'src'));
    writeFileSync(path.join(context, 'src', 'a'), 'first');
  });
  afterEach(() => {
    if (APP_OPERATOR_CACHE === undefined) delete process.env.APP_OPERATOR_CACHE;
    else process.env.APP_OPERATOR_CACHE = APP_OPERATOR_CACHE;
    rmSync(context, { recursive: true });
  });

  const dockerfile = (...lines: string[]): void =>
    writeFileSync(path.join(context, 'Dockerfile'), lines.join('\n'));

  test('files are copied from the tree and from stages, and commands are run', async () => {
    dockerfile(
      'FROM x AS build',
      'WORKDIR /app',
      '# a comment',
      'COPY src ./src',
      'RUN tr a-z A-Z <src/a >upper \\',
      '  && echo more >more',
      'FROM x',
      'ENV A=1 B=2',
      'WORKDIR /app',
      'COPY --from=build /app/upper ./result',
      'COPY src/a ./',
      'USER 1001:0',
      'ENTRYPOINT ["run", "it"]',
    );
    const { folder, config } = await buildDockerfile(context);
    assert.equal(readFileSync(path.join(folder, 'app', 'result'), 'utf8'), 'FIRST');
    assert.equal(readFileSync(path.join(folder, 'app', 'a'), 'utf8'), 'first');
    assert.ok(!existsSync(path.join(folder, 'app', 'more')), 'a stage leaves what is not copied');
    assert.deepEqual(config, {
      User: '1001:0',
      Entrypoint: ['run', 'it'],
      Env: ['A=1', 'B=2'],
      WorkingDir: '/app',
    });
  });

  test('a step is run again when its files have changed, and only then', async () => {
    dockerfile('FROM x', 'WORKDIR /app', 'COPY src ./', 'RUN cat a >>result; date +%N >>result');
    const result = async (): Promise<string> =>
      readFileSync(path.join((await buildDockerfile(context)).folder, 'app', 'result'), 'utf8');
    const first = await result();
    assert.equal(await result(), first);
    writeFileSync(path.join(context, 'src', 'a'), 'second');
    assert.match(await result(), /^second/);
  });

  test('what it does not know is an error', async () => {
    dockerfile('FROM x', 'HEALTHCHECK CMD true');
    await assert.rejects(buildDockerfile(context), /HEALTHCHECK is not known/);
    dockerfile('FROM x', 'COPY --from=none /a ./');
    await assert.rejects(buildDockerfile(context), /no stage none/);
  });

  test('the repository ignores everything but what its Dockerfile copies', () => {
    const read = (file: string): string => readFileSync(path.join(projectRoot(), file), 'utf8');
    const copied = [...read('Dockerfile').matchAll(/^COPY (?!--)(.*) \S+$/gm)]
      .flatMap(([, sources = '']) => sources.split(' '))
      .sort();
    const sent = [...read('.dockerignore').matchAll(/^!(.*)$/gm)].map(([, file]) => file).sort();
    assert.deepEqual([...new Set(copied)], sent);
  });
});
