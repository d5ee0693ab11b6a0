import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { Readiness } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { Loaded } from "../../shared/page/loading-states";

/** Whether all that the server needs answers: the names of what does, and of the rest why not. */
export function Health() {
  const ready = useQuery({ queryKey: ["ready"], queryFn: () => get<Readiness>("/readyz"), refetchInterval: 10_000 });
  return (
    <Loaded query={ready} rows={1}>
      {({ dependencies }) => {
        const each = Object.entries(dependencies);
        const away = each.filter(([, { state }]) => state !== "ok");
        const well = each.filter(([, { state }]) => state === "ok").map(([name]) => name);
        return (
          <p className="tight" aria-label="Health" role="group">
            {away.map(([name, { state, reason }]) => (
              <span key={name}>
                <Tag tone="bad">
                  {name}: {state.replaceAll("_", " ")}
                </Tag>{" "}
                {visible(reason ?? "")}
              </span>
            ))}
            <span>
              {well.length === 0 ? null : <Tag tone="good">answers</Tag>} <span className="muted">{well.join(", ")}</span>
            </span>
          </p>
        );
      }}
    </Loaded>
  );
}
