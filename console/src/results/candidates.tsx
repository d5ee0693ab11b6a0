import { useState } from "react";
import type { DetectResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Tag } from "../shared/values/marks";
import { Place } from "./evidence";

type Candidate = DetectResult["services"][number]["candidates"][number];

/** What can be done with what was found. */
export interface Actions {
  /** Runs the detection again without a rule. */
  onDisable?: (rule: string) => void;
  /** Makes a rule of what was found. */
  onRule?: (candidate: { kind: string; id: string; name: string; file: string }) => void;
}

interface Props extends Actions {
  jobId: string;
}

/** One axis (language, framework ...): the winner first, what it overruled below. */
export function Axis({ jobId, kind, candidates, onDisable, onRule }: { kind: string; candidates: readonly Candidate[] } & Props) {
  return (
    <div className="tight">
      <span className="muted">{kind.replace("_", " ")}</span>
      {candidates.map((candidate, index) => (
        <CandidateView key={candidate.id} jobId={jobId} candidate={candidate} alone={candidates.length === 1} overruledBy={index > 0 ? candidates[0]! : null} onDisable={onDisable} onRule={onRule} />
      ))}
    </div>
  );
}

/** Its confidence is drawn where it has rivals, and else a number. */
function CandidateView({ jobId, candidate, alone, overruledBy, onDisable, onRule }: { candidate: Candidate; alone: boolean; overruledBy: Candidate | null } & Props) {
  const [open, setOpen] = useState(false);
  return (
    <div className={overruledBy === null ? "" : "indent"}>
      <div className="bar">
        <button type="button" className="link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {visible(candidate.name)}
        </button>
        {candidate.version ? <span className="mono">{visible(candidate.version)}</span> : null}
        {alone ? null : <meter min={0} max={1} value={candidate.confidence} aria-label={`Confidence ${candidate.confidence.toFixed(2)}`} />}
        <span className="muted" title="Confidence, from 0 to 1">
          {candidate.confidence.toFixed(2)}
        </span>
        {candidate.source === "rule" ? null : <Tag tone="accent">{candidate.source}</Tag>}
        {overruledBy === null ? null : <span className="muted">overruled by {visible(overruledBy.name)}</span>}
        <span className="muted">{candidate.evidence.length} {candidate.evidence.length === 1 ? "source" : "sources"}</span>
      </div>
      {open
        ? candidate.evidence.map((evidence, index) => (
            <div key={index} className="callout tight">
              <span className="bar">
                <Place jobId={jobId} file={evidence.file} line={evidence.line} />
                <Tag>{visible(evidence.rule)}</Tag>
                {onDisable === undefined ? null : (
                  <button type="button" className="link" onClick={() => onDisable(evidence.rule)}>
                    Disable this rule and run again
                  </button>
                )}
                {onRule === undefined || candidate.source !== "llm" ? null : (
                  <button type="button" className="link" onClick={() => onRule({ kind: candidate.kind, id: candidate.id, name: candidate.name, file: evidence.file })}>
                    Make this a rule
                  </button>
                )}
              </span>
              {evidence.snippet ? (
                <pre className="code">
                  <div className="ln mark">
                    <span>{evidence.line ?? ""}</span>
                    <span>!</span>
                    <span>{visible(evidence.snippet)}</span>
                  </div>
                </pre>
              ) : (
                <span className="muted">That the file exists is the proof.</span>
              )}
            </div>
          ))
        : null}
    </div>
  );
}
