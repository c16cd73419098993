import { hashOf } from '../kit/json/hash.js';
import { scripts } from './scripts.generated.js';

const TEXTS: ReadonlyMap<string, string> = new Map(Object.entries(scripts));
const IMPORT = /^(?:from|import) (\w+)/gm;

/** The names of a Python script and of all mounted modules that it imports, directly or not. */
export function scriptModules(script: string): readonly string[] {
  const found = new Set([script]);
  for (const name of found) {
    for (const [, module = ''] of (TEXTS.get(name) ?? '').matchAll(IMPORT)) {
      if (TEXTS.has(`${module}.py`)) found.add(`${module}.py`);
    }
  }
  return [...found];
}

/** A hash of a script and its modules: a process that runs it is replaced when the hash changes. */
export function scriptHash(script: string): string {
  return hashOf(scriptModules(script).map((name) => TEXTS.get(name)));
}
