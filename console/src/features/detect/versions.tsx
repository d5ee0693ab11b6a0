import { useQuery } from "@tanstack/react-query";
import { get, postOver, type Tagged } from "../../api/client";
import type { components } from "../../api/schema";
import type { DefinitionSet, Page } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Diff } from "../../shared/code/code";
import { BothVersions } from "../../shared/editing/edited";
import { Tag } from "../../shared/values/marks";
import { count } from "../../shared/values/numbers";
import { useConditionalWrite } from "../../shared/editing/conditional-write";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";
import { useUrl } from "../../shared/page/url";
import { WriteButton } from "../../shared/editing/write-button";
import { VersionAuthor } from "./version-author";

type Version = components["schemas"]["DefinitionsVersion"];

/** All versions of the rules, newest first; one that is opened is shown as what it changed of the one before. */
export function Versions({ now, read }: { now: Tagged<DefinitionSet>; read: () => Promise<Tagged<DefinitionSet>> }) {
  const current = now.value.version;
  const [url, change] = useUrl();
  const query = useQuery({ queryKey: ["definitions", "versions"], queryFn: () => get<Page<Version>>("/v1/stacks/definitions/versions", { limit: 200 }) });
  const restore = useConditionalWrite({
    base: now,
    partOf: (other) => other.yaml,
    read,
    write: (version: number, tag) => postOver("/v1/stacks/definitions/rollback", { version }, tag),
  });
  const wanted = restore.conflict?.mine ?? null;
  const old = useQuery({ queryKey: ["definitions", "text", wanted], queryFn: () => textOf(wanted!), enabled: wanted !== null, staleTime: Infinity });
  if (current === 0) return null;
  return (
    <section className="tight" aria-label="Versions of the rules">
      <h3>Versions</h3>
      {(restore.error ?? old.error) === null ? null : <Failed error={restore.error ?? old.error} />}
      <BothVersions conflict={old.data === undefined ? null : restore.conflict} saving={restore.pending} theirs={(other) => other.yaml} mine={() => old.data ?? ""} who={(other) => <VersionAuthor version={other} />} />
      <Loaded query={query} rows={2}>
        {({ items }) => (
          <>
            {items.map((each, index) => {
              const isOpen = url.rules === String(each.version);
              return (
                <div key={each.version} className="tight">
                  <div className="bar">
                    <button type="button" className="link" aria-expanded={isOpen} onClick={() => change({ rules: isOpen ? null : String(each.version) })}>
                      Version {each.version}
                    </button>
                    {each.version === current ? <Tag tone="good">in use</Tag> : null}
                    <span className="muted">
                      {count(each.count)} {each.count === 1 ? "rule" : "rules"}, <When at={each.created_at} />
                      {each.actor ? (
                        <>
                          {" "}
                          by key <span className="mono">{visible(each.actor)}</span>
                        </>
                      ) : null}
                    </span>
                    <span className="spacer" />
                    {each.version === current ? null : (
                      <WriteButton variant="default" size="compact-sm" loading={restore.pending && restore.action === each.version} aria-label={`Restore version ${each.version}`} onClick={() => restore.act(each.version)}>
                        Restore
                      </WriteButton>
                    )}
                  </div>
                  {each.note ? <span>{visible(each.note)}</span> : null}
                  {isOpen ? <Opened version={each.version} before={items[index + 1]?.version ?? null} /> : null}
                </div>
              );
            })}
          </>
        )}
      </Loaded>
    </section>
  );
}

function Opened({ version, before }: { version: number; before: number | null }) {
  const query = useQuery({ queryKey: ["definitions", "diff", version, before], queryFn: () => Promise.all([textOf(version), before === null ? "" : textOf(before)]), staleTime: Infinity });
  return (
    <Loaded query={query} rows={3}>
      {([now, then]) => (
        <div className="tight">
          <span className="muted">{before === null ? "First stored version" : `Compared with version ${before}`}</span>
          {now === then ? <span className="muted">Same text.</span> : <Diff before={then} after={now} />}
        </div>
      )}
    </Loaded>
  );
}

async function textOf(version: number): Promise<string> {
  return (await get<DefinitionSet>(`/v1/stacks/definitions/versions/${version}`)).yaml;
}
