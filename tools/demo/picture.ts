/** Colours of a dark terminal, by the numbers of `Select Graphic Rendition`. */
const COLOURS: Readonly<Record<number, string>> = {
  31: '#ff7b72',
  32: '#7ee787',
  33: '#e3b341',
  36: '#79c0ff',
};
const BACKGROUND = '#0d1117';
const TEXT = '#e6edf3';
const CHARACTER = { width: 8.43, height: 20 };
const MARGIN = 18;

interface Style {
  readonly colour: string;
  readonly bold: boolean;
  readonly dim: boolean;
}

const PLAIN: Style = { colour: TEXT, bold: false, dim: false };

/** What a terminal shows, as a picture: text with its colours, in a monospaced font. */
export function svgOf(screen: string): string {
  const lines = screen.trimEnd().split('\n');
  const rows = lines.map((line) => spansOf(line));
  const columns = Math.max(
    ...rows.map((row) => row.reduce((sum, { text }) => sum + text.length, 0)),
  );
  const width = Math.ceil(columns * CHARACTER.width + 2 * MARGIN);
  const height = lines.length * CHARACTER.height + 2 * MARGIN;
  const body = rows.map((row, index) => rowOf(row, MARGIN + (index + 0.75) * CHARACTER.height));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" xml:space="preserve">
${body.filter(Boolean).join('\n')}
</g>
</svg>
`;
}

interface Span extends Style {
  readonly text: string;
}

function spansOf(line: string): readonly Span[] {
  let style = PLAIN;
  // eslint-disable-next-line no-control-regex -- what colours a terminal begins with an escape
  return line.split(/\x1b\[([0-9;]*)m/).flatMap((part, index) => {
    if (index % 2 === 0) return part === '' ? [] : [{ text: part, ...style }];
    for (const code of part.split(';').map(Number)) style = styled(style, code);
    return [];
  });
}

function styled(style: Style, code: number): Style {
  switch (code) {
    case 0:
      return PLAIN;
    case 1:
      return { ...style, bold: true };
    case 2:
      return { ...style, dim: true };
    case 22:
      return { ...style, bold: false, dim: false };
    case 39:
      return { ...style, colour: TEXT };
    default:
      return { ...style, colour: COLOURS[code] ?? style.colour };
  }
}

/** Each span says where it begins and how wide it is, so that lines meet whatever the font. */
function rowOf(row: readonly Span[], y: number): string {
  let column = 0;
  return row
    .map(({ text, colour, bold, dim }) => {
      const x = MARGIN + column * CHARACTER.width;
      column += text.length;
      if (text.trim() === '') return '';
      const more = `${bold ? ' font-weight="bold"' : ''}${dim ? ' opacity="0.6"' : ''}`;
      const length = (text.length * CHARACTER.width).toFixed(2);
      return `<text x="${x.toFixed(2)}" y="${y.toFixed(1)}" textLength="${length}" lengthAdjust="spacingAndGlyphs" fill="${colour}"${more}>${escaped(text)}</text>`;
    })
    .join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
