/**
 * Resolves with the name of the signal that ends this process; keeps the process alive until then.
 */
export function signalToEnd(): Promise<string> {
  // Keeps the process alive: a promise alone does not.
  const alive = setInterval(() => undefined, 3_600_000);
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(name, () => {
        clearInterval(alive);
        resolve(name);
      });
    }
  });
}
