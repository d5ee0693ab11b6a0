import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { ChevronDown, ChevronRight, ScrollText } from "lucide-react";
import { Fragment, useState } from "react";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import type { KeyInfo, Page as PageOf } from "../../api/types";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/code/ansi";
import { Callout } from "../../shared/page/callout";
import { Empty, Failed, Loaded } from "../../shared/page/loading-states";
import { useUrl } from "../../shared/page/url";
import { SortedTable } from "../../shared/tables/sorted-table";
import { Icon } from "../../shared/values/icon";
import { count } from "../../shared/values/numbers";
import { When } from "../../shared/values/time";
import { LoadMore } from "../../shared/page/load-more";

type Entry = components["schemas"]["AuditEntry"];
type Verification = components["schemas"]["AuditVerification"];

/** Who changed keys, prompts, models, limits and definitions, newest first. */
export function Audit() {
  const admin = useSession()?.scopes.includes("admin") ?? false;
  const [{ action, tenant }, change] = useUrl();
  const query = useInfiniteQuery({
    queryKey: ["audit", action, tenant],
    queryFn: ({ pageParam }) => get<PageOf<Entry>>("/v1/audit", { action, tenant, limit: 50, cursor: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: (before) => before,
    retry: false,
  });
  const keys = useQuery({ queryKey: ["keys"], queryFn: () => get<PageOf<KeyInfo>>("/v1/keys", { limit: 200 }) });
  const verify = useMutation({ mutationFn: () => get<Verification>("/v1/audit/verification") });
  const names = new Map(keys.data?.items.map((key) => [key.id, key.name]));
  const entries = query.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = action !== undefined || tenant !== undefined;
  return (
    <section aria-label="Audit log" className="stack">
      <div className="bar" style={{ alignItems: "end" }}>
        <Filters key={`${action} ${tenant}`} action={action ?? ""} tenant={tenant ?? ""} admin={admin} known={[...new Set(entries.map((entry) => entry.action))]} onFilter={change} />
        <span className="spacer" />
        {admin ? (
          <Button variant="default" loading={verify.isPending} title="Check that no entry was changed or removed" onClick={() => verify.mutate()}>
            Verify log
          </Button>
        ) : null}
      </div>
      {verify.error === null ? null : <Failed error={verify.error} />}
      {verify.data === undefined ? null : <Verified {...verify.data} />}
      <Loaded query={query} rows={8}>
        {() =>
          entries.length === 0 ? (
            <Empty
              title={filtered ? "No entries match" : "No changes yet"}
              icon={ScrollText}
              actions={
                filtered ? (
                  <Button variant="default" onClick={() => change({ action: null, tenant: null })}>
                    Clear filters
                  </Button>
                ) : undefined
              }
            >
              Changes of keys, prompts, models, limits and definitions appear here, with the key that made them.
            </Empty>
          ) : (
            <Entries entries={entries} names={names} withTenant={admin} />
          )
        }
      </Loaded>
      <LoadMore query={query} />
    </section>
  );
}

interface FilterProps {
  action: string;
  tenant: string;
  admin: boolean;
  known: readonly string[];
  onFilter: (changes: Record<string, string | null>) => void;
}

function Filters({ action, tenant, admin, known, onFilter }: FilterProps) {
  const [draft, setDraft] = useState({ action, tenant });
  return (
    <form
      className="bar"
      style={{ alignItems: "end" }}
      aria-label="Filter the audit log"
      onSubmit={(event) => {
        event.preventDefault();
        onFilter({ action: draft.action.trim() || null, tenant: draft.tenant.trim() || null });
      }}
    >
      <TextInput label="Action" placeholder="e.g. keys.create" list="actions" data-filter value={draft.action} onChange={(event) => setDraft({ ...draft, action: event.currentTarget.value })} w={220} />
      <datalist id="actions">
        {known.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      {admin ? <TextInput label="Tenant" placeholder="All tenants" value={draft.tenant} onChange={(event) => setDraft({ ...draft, tenant: event.currentTarget.value })} w={180} /> : null}
      <Button type="submit" variant="default">
        Filter
      </Button>
    </form>
  );
}

/** What the check of the log has found: every entry carries a hash of the one before. */
function Verified({ intact, entries, broken_at, newest_hash }: Verification) {
  return intact ? (
    <Callout tone="good" role="status">
      <b>{count(entries)} entries are as they were written.</b> {newest_hash === null ? null : <>Newest hash: <span className="mono">{newest_hash}</span></>}
    </Callout>
  ) : (
    <Callout tone="bad" role="alert">
      <b>Entry {broken_at} was changed or removed.</b> Compare with a backup of the database.
    </Callout>
  );
}

function Entries({ entries, names, withTenant }: { entries: readonly Entry[]; names: ReadonlyMap<string, string>; withTenant: boolean }) {
  const [open, setOpen] = useState<number | null>(null);
  const columns = ["", "Time", "Action", "Object", "Key", ...(withTenant ? ["Tenant"] : []), "Address"];
  return (
    <SortedTable
      id="audit"
      label="Entries"
      frame="tall"
      columns={columns}
      items={entries}
      row={(entry) => (
        <Fragment key={entry.seq}>
          <tr>
            <td className="actions">
              <button type="button" className="icon-button" aria-expanded={open === entry.seq} aria-label={`Details of entry ${entry.seq}`} onClick={() => setOpen(open === entry.seq ? null : entry.seq)}>
                <Icon of={open === entry.seq ? ChevronDown : ChevronRight} />
              </button>
            </td>
            <td>
              <When at={entry.at} />
            </td>
            <td className="mono">{entry.action}</td>
            <td>{entry.object === null ? <span className="muted">–</span> : visible(entry.object)}</td>
            <td>
              {visible(names.get(entry.actor) ?? "")} <span className="mono muted">{entry.actor}</span>
            </td>
            {withTenant ? <td>{visible(entry.tenant)}</td> : null}
            <td className="mono">{entry.address ?? <span className="muted">–</span>}</td>
          </tr>
          {open === entry.seq ? (
            <tr className="opened">
              <td colSpan={columns.length}>
                <Details of={entry} />
              </td>
            </tr>
          ) : null}
        </Fragment>
      )}
    />
  );
}

function Details({ of: { seq, at, request_id, detail, hash } }: { of: Entry }) {
  return (
    <dl className="facts">
      <dt>Entry</dt>
      <dd>
        {count(seq)}, {new Date(at).toLocaleString(undefined, { timeZoneName: "short" })}
      </dd>
      {Object.entries(detail).map(([name, value]) => (
        <div key={name} style={{ display: "contents" }}>
          <dt>{visible(name)}</dt>
          <dd className="mono">{visible(typeof value === "string" ? value : JSON.stringify(value))}</dd>
        </div>
      ))}
      <dt>Request</dt>
      <dd className="mono">{request_id ?? "–"}</dd>
      <dt>Hash</dt>
      <dd className="mono">{hash}</dd>
    </dl>
  );
}
