import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import type { Page as PageOf } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { count } from "../../shared/values/numbers";
import { Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";

type PastAttempt = components["schemas"]["PastAttempt"];

/** What searches of the collection have tried lately, and what each attempt found that was new. */
export function PastAttempts({ collection }: { collection: string }) {
  const [open, setOpen] = useState(false);
  const query = useQuery({
    queryKey: ["attempts", collection],
    queryFn: () => get<PageOf<PastAttempt>>(`/v1/collections/${collection}/attempts`, { limit: 20 }),
    enabled: open,
  });
  return (
    <details className="panel" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Search history</summary>
      {open ? (
        <Loaded query={query} rows={3}>
          {({ items }) =>
            items.length === 0 ? (
              <span className="muted">Nothing was searched yet.</span>
            ) : (
              <div className="tight">
                {items.map((each) => (
                  <div key={each.id} className="bar">
                    <Tag tone={each.strategy === "initial" ? "" : "accent"}>{each.strategy}</Tag>
                    <Link to="/search" search={{ job: each.job_id } as never} className="plain clip">
                      {visible(each.queries[0]?.query_text ?? "")}
                    </Link>
                    <span className="muted">
                      {count(each.queries.reduce((sum, each) => sum + each.hits, 0))} hits, {count(each.gain)} new
                    </span>
                    <When at={each.created_at} />
                  </div>
                ))}
              </div>
            )
          }
        </Loaded>
      ) : null}
    </details>
  );
}
