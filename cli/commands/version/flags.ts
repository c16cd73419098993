import { outputFlags } from '../../arguments/shared-flags.js';

export const VERSION_FLAGS = outputFlags('text', 'json');
