import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Few files for a first visit: what most pages use is in one of them. */
const GROUPS = [{ name: "common", test: /./, minShareCount: 5 }];

// The server replaces the placeholder by a nonce of each response (services/gateway/console.py).
export default defineConfig({
  plugins: [react()],
  html: { cspNonce: "__NONCE__" },
  build: {
    target: "es2023",
    // Almost all that the editor and the JSON tree import is on the page by then: a list of it would be larger than what it saves.
    modulePreload: { polyfill: false, resolveDependencies: (file, deps) => (/(codemirror|json-tree)-/.test(file) ? [] : deps) },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: { output: { codeSplitting: { groups: GROUPS } } },
  },
});
