import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../../api/client";
import type { SettingState } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Loaded } from "../../shared/page/loading-states";
import { SortedTable } from "../../shared/tables/sorted-table";

/** The gateway's settings: those that the environment sets, or all of them. */
export function Effective() {
  const settings = useQuery({ queryKey: ["settings"], queryFn: () => get<{ items: SettingState[] }>("/v1/settings") });
  const [all, setAll] = useState(false);
  return (
    <section className="tight" aria-label="The gateway's settings">
      <div className="sec">
        <h2>The gateway’s settings</h2>
        <span className="muted">Read when the gateway starts. Each worker has an environment of its own.</span>
        <span className="spacer" />
        <button type="button" className="link" aria-pressed={all} onClick={() => setAll(!all)}>
          {all ? "Only those that are set" : "Show defaults"}
        </button>
      </div>
      <Loaded query={settings}>
        {({ items }) => (
          <SortedTable
            id="settings"
            label="Variables"
            look="wide wrap"
            frame="tall"
            columns={[{ name: "Variable", by: (row) => row.name }, "Value", { name: "From", by: (row) => row.source }]}
            items={items.filter((each) => all || each.source !== "default")}
            row={(each) => (
              <tr key={each.name} title={each.description}>
                <td className="mono">{each.name}</td>
                <td className="mono">{each.told ? visible(String(each.value ?? "–")) : <span className="muted">Hidden</span>}</td>
                <td>{each.source}</td>
              </tr>
            )}
          />
        )}
      </Loaded>
    </section>
  );
}
