/** Rules for documents. Words that are not ours to use are in cspell.config.yaml. */
const phrases = require('./tools/lint/banned-phrases.json');

module.exports = {
  rules: {
    'en-max-word-count': { max: 30 },
    terminology: {
      defaultTerms: false,
      terms: [
        'Kubernetes',
        // The generated tables quote messages that name the component `redis`, and the value
        // `mariadb` of the field `provider`.
        [String.raw`\b(?<!jobs, )redis\b`, 'Redis'],
        [String.raw`\b(?<!provider )mariadb\b`, 'MariaDB'],
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
