type Labels = Readonly<Record<string, string>>;

/** `key`, `!key`, `key=a`, `key!=a`, `key in (a,b)` or `key notin (a,b)`, with spaces as the user wrote them. */
const REQUIREMENT = /^(!?)\s*([^\s!=]+)\s*(?:(!=|==?)\s*(\S*)|(in|notin)\s*\(([^)]*)\))?$/;

/** Whether labels match a valid selector in the syntax of kubectl, as the API server decides for a watch. */
export function matchesSelector(selector: string, labels: Labels = {}): boolean {
  // A comma in parentheses separates values.
  const requirements = selector.match(/[^,(]+(?:\([^)]*\))?/g) ?? [];
  return requirements.every((text) => matches(text.trim(), labels));
}

function matches(requirement: string, labels: Labels): boolean {
  const [, not, key = '', sign, value = '', set, values = ''] = REQUIREMENT.exec(requirement) ?? [];
  const label = labels[key];
  if (not) return label === undefined;
  if (sign !== undefined) return (label === value) === (sign !== '!=');
  if (set === undefined) return label !== undefined;
  const isListed = values.split(',').some((one) => one.trim() === label);
  return isListed === (set === 'in');
}
