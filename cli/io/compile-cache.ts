import * as nodeModule from 'node:module';
import path from 'node:path';

/**
 * Keeps the code that V8 compiles in a folder of the user, for the next call. The default of Node.js is a
 * folder that all users of the machine write to. Without a home folder nothing is kept.
 */
export function cacheCompiledCode({ HOME, XDG_CACHE_HOME }: NodeJS.ProcessEnv): void {
  const caches = XDG_CACHE_HOME ?? (HOME === undefined ? undefined : path.join(HOME, '.cache'));
  if (caches === undefined || !path.isAbsolute(caches)) return;
  nodeModule.enableCompileCache(path.join(caches, 'app-operator', 'compiled'));
}
