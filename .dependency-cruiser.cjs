/** Import directions between folders, and no cycles, type-only imports included. */
module.exports = {
  forbidden: [{ name: 'no-circular', severity: 'error', from: {}, to: { circular: true } }],
  options: {
    // 'constructs' is also the name of a package: nothing here imports the folder's index.
    exclude: { path: '^constructs/index\\.ts$' },
    doNotFollow: { path: ['node_modules', '^imports'] },
    includeOnly: { path: '^(constructs|runner|cli|testbed|tools|test)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js'] },
  },
};
