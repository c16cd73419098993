/** Rules for documents. Words that are not ours to use are in cspell.config.yaml. */
const phrases = require('./tools/lint/banned-phrases.json');

module.exports = {
  rules: {
    'en-max-word-count': { max: 30 },
    terminology: {
      defaultTerms: false,
      terms: [
        'Kubernetes',
        'Redis',
        'MariaDB',
        'PostgreSQL',
        'KEDA',
        'Prometheus',
        'Grafana',
        'OpenShift',
        'CloudNativePG',
        'Traefik',
        'TypeScript',
        'Node.js',
        'GitHub',
      ],
    },
    'stop-words': { defaultWords: false, words: phrases.map((phrase) => [phrase]) },
  },
};
