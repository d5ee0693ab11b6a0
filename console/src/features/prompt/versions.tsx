import { Button, Modal, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, postOver, type Tagged } from "../../api/client";
import type { components } from "../../api/schema";
import type { Prompt } from "../../api/types";
import { useSession } from "../../app/shell";
import { Diff } from "../../shared/code/code";
import { BothVersions } from "../../shared/editing/edited";
import { useKeyNames } from "../../shared/values/key-names";
import { useConditionalWrite } from "../../shared/editing/conditional-write";
import { Failed } from "../../shared/page/loading-states";
import { SortedTable } from "../../shared/tables/sorted-table";
import { successShare } from "../../shared/values/job-sums";
import { useUrl } from "../../shared/page/url";
import { Names } from "./names";
import { VersionRow } from "./version";
import { VersionAuthor } from "./version-author";

type Stats = components["schemas"]["Stats"];
type Row = components["schemas"]["StatsRow"];

const DAYS = 90;

interface Props {
  now: Tagged<Prompt>;
  versions: readonly Prompt[];
  read: () => Promise<Tagged<Prompt>>;
}

/** All versions with their statistics; any two compared, and any of them published or restored. */
export function Versions({ now, versions, read }: Props) {
  const prompt = now.value;
  const [url, change] = useUrl();
  const admin = useSession()?.scopes.includes("admin") ?? false;
  const names = useKeyNames(admin);
  const stats = useQuery({
    queryKey: ["stats", "prompt", DAYS],
    queryFn: () => get<Stats>("/v1/stats", { by: "prompt", bucket: "all", from: new Date(Date.now() - DAYS * 86_400_000).toISOString() }),
  });
  const sums = new Map(stats.data?.items.map((row) => [row.group, row]));
  const sumsOf = (version: Prompt): Row | undefined => sums.get(`${prompt.key}@${version.version}`);
  const use = useConditionalWrite({
    base: now,
    partOf: (other) => other.text,
    read,
    // A newer version is published as it is; the text of an older one becomes a new version.
    write: (version: number, tag) => postOver<Prompt>(`/v1/prompts/${prompt.key}/${version > prompt.version ? "publish" : "rollback"}`, { version }, tag),
  });
  const [restored, setRestored] = useState<number | null>(null);
  const textOf = (version: string | undefined): string | undefined => versions.find((each) => String(each.version) === version)?.text;
  const choices = versions.map((each) => ({ value: String(each.version), label: `version ${each.version}` }));
  const [before, after] = [url.a ?? String(versions[1]?.version ?? ""), url.b ?? String(versions[0]?.version ?? "")];
  return (
    <div className="sections">
      <section className="stack" aria-label="Versions">
        <div className="sec">
          <h2>Versions</h2> <span className="muted">Last {DAYS} days</span>
        </div>
        <SortedTable
          id="versions"
          label="All versions"
          columns={[
            { name: "Version", by: (version) => version.version },
            "Change",
            { name: "Completed (95%)", by: (version) => (sumsOf(version) === undefined ? null : successShare(sumsOf(version)!)) },
            { name: "Jobs", num: true, by: (version) => sumsOf(version)?.jobs, title: "Whose calls began with it" },
            { name: "Attempts", num: true, by: (version) => sumsOf(version)?.turns_mean, title: "To success: mean / median, and of how many jobs" },
            { name: "Cost per job", num: true, by: (version) => sumsOf(version)?.cost_usd },
            "",
          ]}
          items={versions}
          row={(version) => (
            <VersionRow
              key={version.version}
              version={version}
              current={prompt.version}
              sums={sumsOf(version)}
              who={version.actor == null ? null : (names.get(version.actor) ?? version.actor)}
              may={admin}
              onUse={() => (version.version > prompt.version ? use.act(version.version) : setRestored(version.version))}
            />
          )}
        />
        {restored === null ? null : (
          <RestoreDialog
            version={restored}
            current={prompt.version}
            onClose={() => setRestored(null)}
            onRestore={() => {
              setRestored(null);
              use.act(restored);
            }}
          />
        )}
        {use.error === null ? null : <Failed error={use.error} />}
        <BothVersions conflict={use.conflict} saving={use.pending} theirs={(other) => other.text} mine={(version) => textOf(String(version)) ?? ""} who={(other) => <VersionAuthor version={other} />} />
        <Names prompt={prompt} versions={versions} may={admin} onChanged={() => void read()} />
      </section>
      {versions.length < 2 ? null : (
        <section className="stack" aria-label="Difference of two versions">
          <div className="bar">
            <h2>Compare</h2>
            <Select aria-label="From version" data={choices} value={before} onChange={(a) => change({ a })} w={120} />
            <span className="muted">to</span>
            <Select aria-label="To version" data={choices} value={after} onChange={(b) => change({ b })} w={120} />
          </div>
          <Diff before={textOf(before) ?? ""} after={textOf(after) ?? ""} />
        </section>
      )}
    </div>
  );
}

/** The question before an older text replaces the current one for all jobs. */
function RestoreDialog({ version, current, onClose, onRestore }: { version: number; current: number; onClose: () => void; onRestore: () => void }) {
  return (
    <Modal opened onClose={onClose} size={420} title={`Restore version ${version}?`} role="alertdialog">
      <div className="stack">
        <span>
          New jobs use the text of version {version} at once, instead of version {current}. It is published as a new version, so version {current} stays in the list.
        </span>
        <div className="dialog-foot">
          <Button variant="default" data-autofocus onClick={onClose}>
            Cancel
          </Button>
          <Button color="red" onClick={onRestore}>
            Restore version {version}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
