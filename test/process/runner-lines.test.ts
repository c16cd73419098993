import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { ResponseTooLarge } from '../../runner/api/api-error.js';
import { lines } from '../../runner/api/lines.js';

async function* chunked(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

async function read(...chunks: readonly (string | Uint8Array)[]): Promise<string[]> {
  const all: string[] = [];
  for await (const line of lines(chunked(...chunks))) all.push(line);
  return all;
}

describe('lines', () => {
  const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['one a chunk', ['a\n', 'b\n'], ['a', 'b']],
    ['many in a chunk', ['a\nb\nc\n'], ['a', 'b', 'c']],
    ['one over many chunks', ['a', 'b', 'c\n'], ['abc']],
    ['end and begin within a chunk', ['a', 'b\nc', 'd\n'], ['ab', 'cd']],
    ['newline alone in a chunk', ['a', '\n', 'b\n'], ['a', 'b']],
    ['without a newline at the end', ['a\nb'], ['a', 'b']],
    ['that are empty are left out', ['\n\na\n\n'], ['a']],
    ['of nothing', [], []],
  ];
  for (const [what, chunks, expected] of cases) {
    test(what, async () => {
      assert.deepEqual(await read(...chunks), expected);
    });
  }

  test('keep a character that is cut between chunks', async () => {
    const bytes = Buffer.from('größe €\n');
    const pieces = [...bytes].map((byte) => Uint8Array.of(byte));
    assert.deepEqual(await read(...pieces), ['größe €']);
  });

  test('of more than 16 MiB end the stream: no event of an API server is as long', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    await assert.rejects(read(...Array<Buffer>(17).fill(chunk)), ResponseTooLarge);
  });

  test('arrive as soon as they are complete', async () => {
    const stream = lines(chunked('first\nsec', 'ond\n'));
    assert.equal((await stream.next()).value, 'first');
  });

  test('of 16 MiB in small chunks cost linear time', async () => {
    const chunk = Buffer.alloc(1024, 'x');
    // Of the processor, and the best of some: on a busy machine only what is long is interrupted.
    const time = async (count: number): Promise<number> => {
      let best = Infinity;
      for (let round = 0; round < 5; round++) {
        const start = process.cpuUsage();
        const [line] = await read(...Array<Buffer>(count).fill(chunk), '\n');
        const { user, system } = process.cpuUsage(start);
        assert.equal(line?.length, count * chunk.length);
        best = Math.min(best, (user + system) / 1_000);
      }
      return best;
    };
    const small = await time(2 * 1024);
    const large = await time(16 * 1024);
    // Eight times as long would be linear; quadratic is 64.
    assert.ok(large < 30 * Math.max(small, 1), `${small} ms, then ${large} ms`);
  });
});
