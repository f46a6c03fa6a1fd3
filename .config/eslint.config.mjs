import tseslint from "typescript-eslint";

/** Node built-ins that pure layers may not import; the layer test says the same for our own folders. */
const pure = {
  rules: {
    "no-restricted-imports": [
      "error",
      { patterns: [{ group: ["node:*"], message: "pure layer: no I/O" }] },
    ],
    "no-restricted-globals": ["error", "process", "Buffer", "setTimeout", "setInterval", "fetch"],
    "no-restricted-properties": [
      "error",
      { object: "Date", property: "now", message: "pure layer: pass the time in" },
      { object: "Math", property: "random", message: "pure layer: pass identifiers in" },
    ],
  },
};

export default tseslint.config(
  {
    ignores: [
      "out/**",
      "dist/**",
      "node_modules/**",
      "native/**",
      "test/fixtures/**",
      "test/samples/**",
      ".cache/**",
    ],
  },
  {
    files: ["**/*.ts"],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      eqeqeq: "error",
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_$", ignoreRestSiblings: true },
      ],
      "max-lines": ["error", { max: 450, skipBlankLines: true, skipComments: true }],
      "no-restricted-exports": ["error", { restrictDefaultExports: { direct: true, named: true } }],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/consistent-type-definitions": ["error", "interface"],
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true },
      ],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
    },
  },
  { files: ["src/core/**/*.ts", "src/base/**/*.ts", "src/protocol/**/*.ts"], ...pure },
  {
    files: ["src/**/*.ts"],
    ignores: ["src/vscode/**", "src/extension.ts"],
    rules: {
      "@typescript-eslint/no-restricted-imports": [
        "error",
        { paths: [{ name: "vscode", message: "only src/vscode knows the editor" }] },
      ],
    },
  },
  {
    files: ["test/**/*.ts"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-unused-expressions": "off",
    },
  },
);
