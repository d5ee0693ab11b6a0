// Names for the schemas of the API's own description; `schema.d.ts` is written from it (`python console/types.py`).
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Job = Schemas["JobView"];
export type LlmCall = Schemas["LlmCall"];
export type TransformResult = Schemas["TransformResult"];
export type Check = Schemas["Check"];
export type Iteration = Schemas["Iteration"];
export type Effect = Schemas["Effect"];
export type ExecuteResult = Schemas["ExecuteResult"];
export type DocumentResult = Schemas["DocumentResult"];
export type SearchResult = Schemas["SearchResult"];
export type RecordsResult = Schemas["RecordsResult"];
export type IngestResult = Schemas["IngestResult"];
export type DetectResult = Schemas["DetectResult"];
export type DefinitionSet = Schemas["DefinitionSet"];
export type FlowResult = Schemas["FlowResult"];
export type FlowView = Schemas["FlowView"];
export type FlowSummary = Schemas["FlowSummary"];
export type ChangeSet = Schemas["ChangeSetView"];
export type FlowVersion = Schemas["FlowVersion"];
export type CollectionView = Schemas["CollectionView"];
export type Capabilities = Schemas["Capabilities"];
export type Conversation = Schemas["Conversation"];
export type ConversationSummary = Schemas["ConversationSummary"];
export type JobCounts = Schemas["JobCounts"];
export type JobPage = Schemas["JobPage"];
export type Prompt = Schemas["Prompt"];
export type Models = Schemas["Models"];
export type Link = Schemas["Link"];
export type ProviderState = Schemas["ProviderState"];
export type Readiness = Schemas["Readiness"];
export type Doctor = Schemas["Doctor"];
export type SettingState = Schemas["SettingState"];
export type KeyInfo = Schemas["KeyInfo"];
export type Session = Schemas["Session"];
export type NewSession = Schemas["NewSession"];
export type EvaluationSummary = Schemas["EvaluationSummary"];
export type Evaluation = Schemas["EvaluationView"];
export type EvaluationCell = Schemas["Cell"];
export type EvaluationTotal = Schemas["Total"];
export type Case = Schemas["Case"];
export type EvaluationRun = Schemas["Run"];
export type FileRows = Schemas["FileRows"];
export type FileProfile = Schemas["FileProfile"];
export type FileReading = Schemas["FileReading"];
export type ColumnProfile = Schemas["ColumnProfile"];
export type Table = Schemas["Table"];

export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

/** One event of a job's history; the fields of its type are next to these. */
export interface JobEvent {
  type: string;
  job_id: string;
  seq: number;
  at: string;
  [field: string]: unknown;
}

export const TERMINAL: ReadonlySet<string> = new Set(["succeeded", "failed", "cancelled", "dead"]);
