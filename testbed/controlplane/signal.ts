const NAMES = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Ends this process by an exit, which ends its children; the default action of a signal does not. */
export function exitOnSignal(): void {
  for (const name of NAMES) process.once(name, () => process.exit(1));
}

/**
 * Resolves with the name of the signal that ends this process; keeps the process alive until then.
 */
export function signalToEnd(): Promise<string> {
  // Keeps the process alive: a promise alone does not.
  const alive = setInterval(() => undefined, 3_600_000);
  return new Promise((resolve) => {
    for (const name of NAMES) {
      process.once(name, () => {
        clearInterval(alive);
        resolve(name);
      });
    }
  });
}
