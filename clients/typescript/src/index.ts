export { Assay, type AssayOptions, type SubmitOptions, type WaitOptions } from "./client.js";
export { ConnectionError, JobFailed, Problem } from "./errors.js";
export { InvalidSignature, verifyWebhook } from "./webhooks.js";
export type { InputOf, Job, JobEvent, Kind, Notice, ResultOf } from "./types.js";
export type { components, operations, paths, webhooks } from "./schema.js";
