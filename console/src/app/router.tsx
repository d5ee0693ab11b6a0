import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { NotFoundPage } from "./not-found";
import { Shell } from "./shell";
import { Failed } from "../shared/page/loading-states";

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFoundPage,
  validateSearch: (search: Record<string, unknown>): Record<string, string> =>
    Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)])),
});

type Page = () => Promise<{ Page: () => React.JSX.Element }>;

const place = <Path extends string>(path: Path, load: Page) =>
  createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(load, "Page") });

const routes = root.addChildren([
  place("/", () => import("../features/overview/page")),
  place("/jobs", () => import("../features/jobs/page")),
  place("/jobs/$id", () => import("../features/job/page")),
  place("/transform", () => import("../features/transform/page")),
  place("/run", () => import("../features/run/page")),
  place("/documents", () => import("../features/documents/page")),
  place("/search", () => import("../features/search/page")),
  place("/flows", () => import("../features/flows/page")),
  place("/flows/$id", () => import("../features/flow/page")),
  place("/detect", () => import("../features/detect/page")),
  place("/compare", () => import("../features/compare/page")),
  place("/prompts", () => import("../features/prompts/page")),
  place("/prompts/$key", () => import("../features/prompt/page")),
  place("/models", () => import("../features/models/page")),
  place("/evaluations", () => import("../features/evaluations/page")),
  place("/evaluations/$id", () => import("../features/evaluation/page")),
  place("/conversations", () => import("../features/conversations/page")),
  place("/queues", () => import("../features/queues/page")),
  place("/usage", () => import("../features/usage/page")),
  place("/keys", () => import("../features/keys/page")),
  place("/settings", () => import("../features/settings/page")),
]);

export const router = createRouter({
  routeTree: routes,
  scrollRestoration: true,
  defaultPreload: "intent",
  defaultErrorComponent: ({ error }) => <Failed error={error} />,
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const pairs = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
    const text = new URLSearchParams(pairs as [string, string][]).toString();
    return text === "" ? "" : `?${text}`;
  },
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
