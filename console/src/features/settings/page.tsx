import { Tabs } from "@mantine/core";
import type { components } from "../../api/schema";
import { useSession } from "../../app/shell";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { Boundary } from "../../shared/page/loading-states";
import { Audit } from "./audit";
import { Limits } from "./limits";
import { System } from "./system";
import { ThisBrowser } from "./this-browser";
import { Webhooks } from "./webhooks";

interface Part {
  value: string;
  name: string;
  body: () => React.JSX.Element;
  /** Scopes of which one is needed; missing where every key may read it. */
  scopes?: components["schemas"]["Session"]["scopes"];
}

const PARTS: readonly Part[] = [
  { value: "system", name: "System", body: System },
  { value: "limits", name: "Limits", body: Limits },
  { value: "webhooks", name: "Webhooks", body: Webhooks, scopes: ["write"] },
  { value: "audit", name: "Audit log", body: Audit, scopes: ["admin", "tenant_admin"] },
  { value: "browser", name: "This browser", body: ThisBrowser },
];

export function Page() {
  const session = useSession();
  const [{ tab }, change] = useUrl();
  const parts = PARTS.filter(({ scopes }) => scopes === undefined || scopes.some((scope) => session?.scopes.includes(scope) ?? false));
  const { value, name, body: Body } = parts.find((part) => part.value === tab) ?? parts[0]!;
  useTitle(value === "system" ? "Settings" : `${name} · Settings`);
  return (
    <>
      <div className="head">
        <h1>Settings</h1>
      </div>
      <Tabs value={value} onChange={(chosen) => change({ tab: chosen === "system" ? null : chosen, tenant: null, action: null })}>
        <Tabs.List aria-label="Parts of the settings">
          {parts.map((part) => (
            <Tabs.Tab key={part.value} value={part.value}>
              {part.name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={value} className="tab-body">
          <Boundary key={value}>
            <Body />
          </Boundary>
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
