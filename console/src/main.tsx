import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Theme } from "./app/theme";
import { SignInGate } from "./app/gate";
import { router } from "./app/router";
import { Problem } from "./api/problem";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1000,
      // What the server refuses, it refuses again; what does not answer may be restarting.
      retry: (count, error) => !(error instanceof Problem && error.status >= 400 && error.status < 500) && count < 5,
      retryDelay: (count) => Math.min(500 * 2 ** count, 5000),
    },
    mutations: { retry: false },
  },
});

// A new build has other files: load the page once more when one of this build is gone. Drafts are kept by the pages.
window.addEventListener("vite:preloadError", (event) => {
  if (sessionStorage.getItem("assay.reloaded") === document.lastModified) return;
  sessionStorage.setItem("assay.reloaded", document.lastModified);
  event.preventDefault();
  location.reload();
});

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Theme>
      <QueryClientProvider client={queries}>
        <SignInGate>
          <RouterProvider router={router} />
        </SignInGate>
      </QueryClientProvider>
    </Theme>
  </StrictMode>,
);
