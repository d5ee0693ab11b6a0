import { useInfiniteQuery } from "@tanstack/react-query";
import { MessagesSquare } from "lucide-react";
import { get } from "../../api/client";
import type { ConversationSummary, Page as PageOf } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Empty, Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { Turns } from "./turns";
import { SortedTable } from "../../shared/tables/sorted-table";
import { LoadMore } from "../../shared/page/load-more";

/** All conversations, next to the turns of the chosen one (`?id=`). */
export function Page() {
  useTitle("Conversations");
  const [url, change] = useUrl();
  const query = useInfiniteQuery({
    queryKey: ["conversations"],
    queryFn: ({ pageParam }) => get<PageOf<ConversationSummary>>("/v1/conversations", { limit: 50, cursor: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
  const first = readable(query.data?.pages[0]?.items ?? [], undefined)[0]?.id;
  // Where both fit next to each other the newest one is open.
  const shown = url.id ?? (window.matchMedia("(min-width: 1024px)").matches ? first : undefined);
  return (
    <>
      <div className="head">
        <div className="title">
          <h1>Conversations</h1>
          <p>Jobs that build on earlier messages</p>
        </div>
      </div>
      <div className="cols even">
        <Loaded query={query}>
          {(data) => {
            const items = readable(data.pages.flatMap((page) => page.items), url.id);
            if (items.length === 0 && !query.hasNextPage) {
              return (
                <Empty title="No conversations yet" icon={MessagesSquare}>
                  Jobs that talk to a model appear here. Follow-ups in Transform or Flows continue a conversation.
                </Empty>
              );
            }
            return (
              <section className="stack" aria-label="All conversations">
                <List items={items} chosen={shown} choose={(id) => change({ id })} />
                <LoadMore query={query} />
              </section>
            );
          }}
        </Loaded>
        {shown === undefined ? <Empty title="Select a conversation" icon={MessagesSquare}>Its messages and jobs will appear here.</Empty> : <Turns key={shown} id={shown} onGone={() => change({ id: null })} />}
      </div>
    </>
  );
}

/** Every job has a conversation; those without messages have nothing to read. */
export function readable(conversations: readonly ConversationSummary[], chosen: string | undefined): ConversationSummary[] {
  return conversations.filter((each) => each.messages_count > 0 || each.id === chosen);
}

function List({ items, chosen, choose }: { items: readonly ConversationSummary[]; chosen: string | undefined; choose: (id: string) => void }) {
  return (
    <SortedTable
      id="conversations"
      label="Conversations, newest first"
      frame="tall"
      columns={[
        { name: "Started with", by: (row) => row.title ?? row.id },
        { name: "Job types", by: (row) => (row.kinds ?? []).join() },
        { name: "Messages", num: true, by: (row) => row.messages_count },
        { name: "Last message", num: true, by: (row) => row.updated_at },
      ]}
      items={items}
      row={(each) => (
        <tr key={each.id} aria-current={each.id === chosen ? "true" : undefined}>
          <td className="grow">
            <button type="button" className="link" onClick={() => choose(each.id)}>
              {visible(each.title ?? each.id)}
            </button>
          </td>
          <td>{(each.kinds ?? []).join(", ")}</td>
          <td className="num">{each.messages_count}</td>
          <td className="num muted">
            <When at={each.updated_at} />
          </td>
        </tr>
      )}
    />
  );
}
