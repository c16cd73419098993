/** The memory of this process in MiB, after a garbage collection if Node was started with `--expose-gc`. */
export function rssMiB(): number {
  globalThis.gc?.();
  return process.memoryUsage.rss() / 1_048_576;
}
