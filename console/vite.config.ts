import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The server replaces the placeholder by a nonce of each response (services/gateway/console.py).
export default defineConfig({
  plugins: [react()],
  html: { cspNonce: "__NONCE__" },
  build: {
    target: "es2023",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
  },
});
