import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import type { SiteSettings } from '../../main.ts';

const file = process.env['SITE'];
if (!file) throw new Error('the site is built by `npm run docs`, which sets SITE');
const { source, output, base, version, versions, sidebar } = JSON.parse(
  readFileSync(file, 'utf8'),
) as SiteSettings;

export default defineConfig({
  title: 'app-operator',
  description: 'A Kubernetes operator for benches and sites of the Frappe Framework',
  lang: 'en',
  base,
  srcDir: source,
  outDir: output,
  cleanUrls: true,
  // Browsers ask for an icon.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // Headings of the docs are linked with the anchors that GitHub makes.
    anchor: { slugify: githubSlug },
    toc: { slugify: githubSlug },
    headers: { slugify: githubSlug },
  },
  themeConfig: {
    nav: [
      { text: 'Install', link: '/install' },
      { text: 'Kinds', link: '/spec/' },
      { text: 'Reasons', link: '/reasons' },
      { text: version, items: [...versions.map((entry) => ({ ...entry, target: '_self' }))] },
    ],
    sidebar: sidebar.map((group) => ({ ...group, items: [...group.items] })),
    outline: [2, 3],
    search: { provider: 'local', options: { detailedView: true } },
  },
});

/** The anchor that GitHub gives a heading. */
function githubSlug(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}
