import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../api/client";
import type { components } from "../api/schema";
import type { DetectResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Code } from "../shared/code/code";
import { Tag } from "../shared/values/marks";
import { Loaded } from "../shared/page/loading-states";

type Source = components["schemas"]["DetectSource"];

const AROUND = 8;

/** A place of the source; a click opens the file there. */
export function Place({ jobId, file, line }: { jobId: string; file: string; line?: number | null }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="link mono" aria-expanded={open} onClick={() => setOpen(!open)}>
        {visible(file)}
        {line ? `:${line}` : ""}
      </button>
      {open ? <Lines jobId={jobId} file={file} line={line ?? null} /> : null}
    </>
  );
}

function Lines({ jobId, file, line }: { jobId: string; file: string; line: number | null }) {
  const [all, setAll] = useState(line === null);
  const range = all || line === null ? {} : { first: Math.max(1, line - AROUND), last: line + AROUND };
  const query = useQuery({
    queryKey: ["source", jobId, file, all ? null : line],
    queryFn: () => get<Source>(`/v1/jobs/${jobId}/source`, { path: file, ...range }),
    staleTime: Infinity,
  });
  return (
    <div style={{ flexBasis: "100%" }} role="region" aria-label={`Source of ${file}`}>
      <Loaded query={query} rows={3}>
        {({ text }) => (
          <>
            <Code text={text!.lines.join("\n")} first={text!.first} marked={line === null ? [] : [line]} />
            {all ? null : (
              <button type="button" className="link" onClick={() => setAll(true)}>
                All {text!.line_count} lines
              </button>
            )}
            {text!.cut ? <p className="muted">The file is longer; the rest is not kept.</p> : null}
          </>
        )}
      </Loaded>
    </div>
  );
}

const RULES: Readonly<Record<string, string>> = {
  eol: "Out of support",
  conflict: "Statements that contradict each other",
  unpinned: "Not pinned: another build may get something else",
  "secret-file": "Files that hold credentials",
};

/** What a check of the repository may refuse, by rule, each with its place. */
export function Findings({ jobId, findings }: { jobId: string; findings: DetectResult["findings"] }) {
  const rules = [...new Set(findings?.map((finding) => finding.rule))];
  if (rules.length === 0) return null;
  return (
    <section className="panel stack" aria-label="Findings">
      <h2>Findings</h2>
      {rules.map((rule) => {
        const those = findings!.filter((finding) => finding.rule === rule);
        return (
          <details key={rule} open={those.length <= 5}>
            <summary>
              {RULES[rule] ?? rule} <Tag tone="warn">{those.length}</Tag>
            </summary>
            {those.map((finding, index) => (
              <div key={index} className="bar">
                <span>{visible(finding.message)}</span>
                {finding.file ? <Place jobId={jobId} file={finding.file} line={finding.line} /> : null}
              </div>
            ))}
          </details>
        );
      })}
    </section>
  );
}
