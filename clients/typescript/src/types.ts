/** Short names for the types that `/openapi.json` describes. */

import type { components, paths, webhooks } from "./schema.js";

export type Job = components["schemas"]["JobView"];
export type JobEvent = components["schemas"]["JobEvent"];
export type Order = paths["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"];
export type Kind = Order["kind"];
export type InputOf<K extends Kind> = Extract<Order, { kind: K }>["input"];
/** What a webhook posts when a job has ended. */
export type Notice = webhooks["job.finished"]["post"]["requestBody"]["content"]["application/json"];

type Schemas = components["schemas"];
type Results = {
  execute: Schemas["ExecuteResult"];
  transform: Schemas["TransformResult"];
  document: Schemas["DocumentResult"];
  search: Schemas["SearchResult"];
  ingest: Schemas["IngestResult"];
  records: Schemas["RecordsResult"];
  flow: Schemas["FlowResult"];
  detect: Schemas["DetectResult"];
};
/** The result of a kind; of a kind that a plugin added, what it returns is not known here. */
export type ResultOf<K extends Kind> = K extends keyof Results ? Results[K] : unknown;
