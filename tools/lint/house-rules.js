// Rules of this project that Oxlint does not have.
import { readFileSync } from 'node:fs';

/** Phrases that avoid the noun that they are about. Documents are held to the same list by textlint. */
const PHRASES = JSON.parse(readFileSync(`${import.meta.dirname}/banned-phrases.json`, 'utf8'));
const BANNED = new RegExp(String.raw`\b(${PHRASES.join('|')})\b`, 'i');

/** A rule that reports the nodes of some selectors, each with a message. */
const restricted = (selectors) => ({
  create: (context) =>
    Object.fromEntries(
      Object.entries(selectors).map(([selector, message]) => [
        selector,
        (node) => context.report({ node, message }),
      ]),
    ),
});

/** A comment that switches a rule off says why, after two dashes. */
const reasons = {
  create: (context) => ({
    Program() {
      for (const comment of context.sourceCode.getAllComments()) {
        const text = comment.value.trim();
        if (/^(eslint|oxlint)-disable/.test(text) && !/ -- \S.{9,}/.test(text)) {
          context.report({ loc: comment.loc, message: `Say why: \`${text} -- reason\`.` });
        }
      }
    },
  }),
};

const phrases = {
  create(context) {
    const check = (node, text) => {
      if (typeof text === 'string' && BANNED.test(text)) {
        context.report({
          node,
          message: 'Name the thing, and say who does what: see docs/contributing/glossary.md.',
        });
      }
    };
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          if (BANNED.test(comment.value)) {
            context.report({ loc: comment.loc, message: 'Name the thing: see the glossary.' });
          }
        }
      },
      Literal: (node) => check(node, node.value),
      TemplateElement: (node) => check(node, node.value.cooked),
    };
  },
};

const RE_EXPORT = 'No barrels but index.ts of a kind and of constructs/: import from where it is.';

export default {
  meta: { name: 'house' },
  rules: {
    reasons,
    phrases,
    'no-default-export': restricted({
      ExportDefaultDeclaration: 'No default exports: a name is the same everywhere.',
    }),
    'no-re-export': restricted({
      ExportAllDeclaration: RE_EXPORT,
      'ExportNamedDeclaration[source]': RE_EXPORT,
    }),
    backoff: restricted({
      "BinaryExpression[operator='*'] > BinaryExpression[operator='**']":
        'A backoff grows with time, not with events: use backoffMs or doubledMs of backoff.ts.',
    }),
  },
};
