"""What causes each error, and what to do about it: the catalogue of /docs/errors and of docs/errors.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Remedy(NamedTuple):
    cause: str
    fix: str


_OF_THE_PROVIDER = "Nothing here: the next model of the chain is asked. `assay jobs llm-calls ID` shows each attempt."

#: By code; a test holds it against the classes of errors.
REMEDIES: Mapping[str, Remedy] = {
    # --- the request
    "invalid_request": Remedy(
        "A field, a query parameter or a combination of them is not what the operation takes.",
        "`errors` points at each field (`loc`) and says what is wrong (`msg`); the API document describes the fields.",
    ),
    "malformed_json": Remedy(
        "The body is empty, cut or no JSON.", "Send JSON with `Content-Type: application/json`; `detail` has the place."
    ),
    "malformed_request": Remedy(
        "The bytes are not HTTP/1.1, such as TLS on a plain port.", "Use the address as `assay status` prints it."
    ),
    "headers_too_large": Remedy(
        "The request line and the headers are longer than allowed.", "Send fewer cookies and shorter query strings."
    ),
    "request_timed_out": Remedy(
        "The head or the body of the request stopped coming, or came too slowly.",
        "Send it again. Behind a proxy, let it buffer requests; ASSAY_HEAD_SECONDS and ASSAY_BODY_PAUSE_SECONDS "
        "bound it.",
    ),
    "too_large": Remedy(
        "The body, the file or a field is larger than allowed; `detail` names the limit.",
        "Upload data with `POST /v1/files` and name the file. Operators raise ASSAY_BODY_BYTES, "
        "ASSAY_LARGE_BODY_BYTES or "
        "ASSAY_UPLOAD_BYTES.",
    ),
    "unsupported_media_type": Remedy(
        "The body's Content-Type is not one that the operation reads.",
        "Send `application/json`, or what `detail` names.",
    ),
    "method_not_allowed": Remedy("The path has no such method.", "The `Allow` header lists those that it has."),
    "not_found": Remedy(
        "Nothing of that id belongs to the key's tenant; what is another tenant's looks the same.",
        "List what there is (`assay jobs ls`, `assay flow ls` ...), and check that the key is of the right tenant.",
    ),
    "range_not_satisfiable": Remedy(
        "A `Range` begins after the end of the file.", "`Content-Range` of the answer has the size; ask within it."
    ),
    "precondition_failed": Remedy(
        "`If-Match` names another version than the current one: somebody else has changed it.",
        "Read it again, apply the change to what is there now, and send the new ETag. `changed` may list what differs.",
    ),
    "conflict": Remedy(
        "What is asked for contradicts what is there; `detail` says what.", "Look at the current state and ask again."
    ),
    "idempotency_key_reused": Remedy(
        "The `Idempotency-Key` was used for another request in the last 24 hours.",
        "Use a new key for each different request; repeat a request with exactly the same body.",
    ),
    "request_in_flight": Remedy(
        "The first request with this `Idempotency-Key` has not been answered yet.",
        "Wait as `Retry-After` says and send it again: the answer is then the first one's.",
    ),
    "rate_limited": Remedy(
        "The tenant sends more requests a minute than it may; of an attempt: the provider refused for the same reason.",
        "Wait as `Retry-After` says. Operators raise ASSAY_REQUESTS_PER_MINUTE, or the tenant's own with "
        "`assay limits set`.",
    ),
    "overloaded": Remedy(
        "More is waiting than this server takes, or a bounded piece of work found no place; of an attempt: the "
        "provider is.",
        "Try again after `Retry-After`; for operators: more workers (ASSAY_REPLICAS), see docs/how-to/alerts.md.",
    ),
    "quota_exceeded": Remedy(
        "The tenant has used up a quota; `quota` names it and `limit` tells it.",
        "`assay limits show` lists all of them. Delete files, wait for jobs to end, or have it raised with `assay "
        "limits set`.",
    ),
    # --- keys
    "not_authenticated": Remedy(
        "There is no key, or it is wrong, revoked or expired.",
        "Send `Authorization: Bearer KEY`; `assay status -o env` prints the key of an installation on this machine.",
    ),
    "missing_scope": Remedy(
        "The key is valid and may not do this; `detail` names the scope.",
        "Use a key with that scope: `assay keys create --name NAME --scope SCOPE`.",
    ),
    "origin_not_allowed": Remedy(
        "A page of another address, or an unknown Host, uses routes that act without a key of the caller's.",
        "Name the page in ASSAY_CORS_ORIGINS, or the host in ASSAY_COMPATIBILITY_HOSTS.",
    ),
    # --- jobs
    "job_not_finished": Remedy(
        "The job has no result before its end.", "Wait: `assay jobs wait ID`, or `Prefer: wait`."
    ),
    "job_finished": Remedy("The job has ended, so it cannot be cancelled.", "Nothing: read its result or its error."),
    "job_cancelled": Remedy("Somebody cancelled the job.", "Submit it again, or `assay jobs replay ID`."),
    "budget_spent": Remedy(
        "Turns, seconds or tokens were used up before a result passed its checks; `attempts` names providers that "
        "used time.",
        "Look at the turns (`assay jobs get ID`), make the task or its assertions clearer, or raise the budget "
        "(`--turns`, "
        "`--seconds`).",
    ),
    "worker_crashed": Remedy(
        "The worker died three times while it ran this job alone: memory, a crash of a library, or the machine.",
        "Look into the worker's log and the kernel's for `oom-kill`; try with smaller data. `assay jobs replay ID` "
        "runs it again.",
    ),
    "user_code_failed": Remedy(
        "Code that was given, not made by a model, raised an error or broke a limit.",
        "The result has the traceback; `verdict` says which limit. Mend the code or raise its limits.",
    ),
    "schema_drift": Remedy(
        "Saved code was run on data with other columns than it was made for.",
        "`drift` lists what is missing, new, of another type or probably renamed. Rename the columns, or make the "
        "code anew.",
    ),
    "invalid_data": Remedy(
        "A file of the job cannot be read as the table that it says it is.",
        "`detail` has the line or the column; give `--delimiter`, `--encoding` or `--sheet`, or mend the file.",
    ),
    "language_unavailable": Remedy(
        "The language's runtime is not installed where code runs.",
        "Install it on the workers (`scripts/install-optional` does on Debian) and restart; `assay doctor` shows it.",
    ),
    "sandbox_unavailable": Remedy(
        "Code cannot be isolated as ASSAY_SANDBOX_MINIMUM asks.",
        "`assay doctor` says why: user namespaces are off, or a seccomp profile forbids them. See docs/sandbox.md.",
    ),
    # --- models
    "no_provider_configured": Remedy(
        "The job asks a model, and no provider has a key or an address.",
        "Set GROQ_API_KEY, CEREBRAS_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY, or add a server of your own with "
        "`assay endpoints add`; then restart.",
    ),
    "providers_failed": Remedy(
        "None of the role's models answered; `attempts` has provider, outcome and seconds of each.",
        "Each outcome has its own row here. `assay providers` shows who rests, `assay models test ROLE` asks once.",
    ),
    "context_too_long": Remedy(
        "The prompt is longer than the window of every model of the chain; `window` is the largest.",
        "Send less (fewer columns, a shorter document or history), or put a model with a larger window into the chain.",
    ),
    "no_such_model": Remedy(
        "The model that was asked for belongs to no configured provider.", "`assay models ls --all` lists them."
    ),
    "unknown_provider": Remedy(
        "There is neither a vendor nor an endpoint of that name.",
        "`assay endpoints ls` and `assay providers` list them.",
    ),
    "model_not_allowed": Remedy(
        "The tenant's list of models leaves this one out.", "An administrator allows it: `PUT /v1/tenants/{id}/models`."
    ),
    "model_broker_unavailable": Remedy(
        "The worker cannot reach the process that holds the providers' keys.",
        "Is `broker` running (`assay status`), and is ASSAY_BROKER_URL its address?",
    ),
    "model_broker_refused": Remedy(
        "The broker answers running jobs only; this one has ended, or the worker is of another version.",
        "Nothing when the job was cancelled; else run one version of all services.",
    ),
    "recording_missing": Remedy(
        "A replay from recordings asked something that was never recorded.",
        "Record it once (ASSAY_LLM_RECORD), or replay without recordings.",
    ),
    "prompt_broken": Remedy("The text is no valid template.", "`detail` has the line; see docs/llm.md for the syntax."),
    "prompt_variable_missing": Remedy(
        "The prompt leaves out a variable without which the kind cannot work.", "Put it in: `errors` names it."
    ),
    "prompt_variable_unknown": Remedy(
        "The prompt uses a variable that the kind does not give.", "`GET /v1/prompts/KEY` lists the variables."
    ),
    "prompt_not_rendered": Remedy(
        "A published prompt failed when it was filled in.", "Roll it back: `assay prompts rollback KEY`."
    ),
    # --- outcomes of one attempt
    "provider_fault": Remedy("A provider did not answer.", _OF_THE_PROVIDER),
    "request_refused": Remedy("The provider answered 400 or 422: it does not take this request.", _OF_THE_PROVIDER),
    "endpoint_not_found": Remedy(
        "The address has no such path.", "Check the base URL; most end in `/v1`. `assay endpoints test NAME` looks."
    ),
    "unknown_model": Remedy(
        "The provider does not know the model's name.", "Correct it: `assay models ls --all`, `assay models set ROLE`."
    ),
    "forbidden": Remedy("The provider's key may not use this model.", "Use another key or another model."),
    "payment_required": Remedy("The account at the provider has no credit.", "Pay there, or change the chain."),
    "invalid_key": Remedy(
        "The provider does not know the key.", "Set the right one and restart; the variable is in docs/settings.md."
    ),
    "only_thought": Remedy(
        "The model reasoned until its answer was cut off.", "Give it more tokens or less effort: `assay models set`."
    ),
    "empty_answer": Remedy("The model's answer says nothing.", _OF_THE_PROVIDER),
    "unreadable_answer": Remedy(
        "What came back is not a model's answer, such as a proxy's HTML page.", "Look at the address and at proxies."
    ),
    "stream_cut": Remedy("The answer ended in the middle.", _OF_THE_PROVIDER),
    "server_error": Remedy("The provider answered 500 or the like.", _OF_THE_PROVIDER),
    "starting": Remedy("The server is loading its model.", "Wait: it is asked again for ASSAY_LLM_STARTING_SECONDS."),
    "busy": Remedy(
        "All slots of the server were taken for as long as the job could wait.",
        "Raise the endpoint's `--concurrency` if the server has more slots, or the job's budget of seconds.",
    ),
    "timed_out": Remedy(
        "The provider took longer than it may for its first token, between tokens or in all.",
        "For a slow server of your own: `assay endpoints add ... --first-token`, or ASSAY_LLM_FIRST_TOKEN_SECONDS.",
    ),
    "stale_connection": Remedy(
        "A kept connection had been closed by the provider.", "Nothing: it is asked again at once."
    ),
    "connection_failed": Remedy(
        "The provider's address cannot be reached.", "Is the server running, and is the address right from here?"
    ),
    "schema_unsupported": Remedy("The model has no structured answers.", "Nothing: the text is checked anyway."),
    "images_unsupported": Remedy(
        "The model does not see.", "Nothing: it is asked without images, and a warning says so."
    ),
    "sampling_unsupported": Remedy(
        "The model lets nobody choose its temperature or seed.",
        "Nothing: it is asked without; leave the parameters out.",
    ),
    "effort_unsupported": Remedy(
        "The model lets nobody choose its effort, or has other words for it.", "Leave the parameter out."
    ),
    "tool_use_failed": Remedy("The model's tool call does not fit its format.", _OF_THE_PROVIDER),
    # --- flows
    "flow_too_large": Remedy("The flow has more nodes or edges than are kept.", "Split it; `detail` has the limits."),
    "undo_conflict": Remedy(
        "Somebody else has changed the same elements since.", "Undo the later change first, or use `scope=all`."
    ),
    "proposal_closed": Remedy("The proposal was applied or discarded already.", "Ask for a new one."),
    # --- detect
    "source_unreadable": Remedy(
        "The archive or repository cannot be read.", "`detail` says why; pack it again as tar, tar.gz, tar.zst or zip."
    ),
    "unknown_archive_format": Remedy(
        "The upload is no archive that is read: tar, also with gzip, zstd, xz or bzip2, and zip.",
        "Upload one of those; a single file is put into one first.",
    ),
    "source_too_large": Remedy(
        "The source has more files or bytes than are read.",
        "Leave out what is not source (`.gitignore` is heeded), or raise ASSAY_STACKS_MAX_ENTRIES or "
        "ASSAY_STACKS_MAX_UNPACKED_GB.",
    ),
    "source_not_allowed": Remedy(
        "The address is private, or folders of the server are not opened for reading.",
        "Upload an archive; operators name hosts in ASSAY_STACKS_GIT_PRIVATE_HOSTS and folders in ASSAY_DETECT_ROOTS.",
    ),
    # --- search
    "unknown_collection": Remedy(
        "The tenant has no such collection.", "`assay collection ls`; `assay ingest` makes one."
    ),
    "unknown_table": Remedy("The collection has no such table.", "`assay collection get NAME` lists its tables."),
    "unknown_field": Remedy(
        "The table has no such field to filter on.", "`assay collection get NAME` lists the fields."
    ),
    "unreadable_file": Remedy(
        "The file is not of the format that was said.", "Say another `--format`, or mend the file."
    ),
    "embedding_changed": Remedy(
        "The table holds vectors of another embedding model than the one that is set.",
        "Set ASSAY_EMBEDDING back, or delete the collection and ingest it again.",
    ),
    "embedding_unavailable": Remedy(
        "The embedding model is not installed, or its server does not answer.", "`detail` names what is missing."
    ),
    "search_store_unavailable": Remedy(
        "Qdrant, or the embedded store, does not answer.", "Check QDRANT_URL and the server; the worker's log has more."
    ),
    # --- the server
    "database_unavailable": Remedy(
        "Postgres does not answer; nothing was written.", "Try again shortly; operators: `assay doctor`, `/readyz`."
    ),
    "query_too_slow": Remedy(
        "A list's filter is true of few jobs, and Postgres gave up after its time.",
        "Name a kind, a state or a time (`created_after`) as well.",
    ),
    "storage_full": Remedy(
        "The disk or the store of files has no space left; nothing was kept.",
        "Free space: delete files and old jobs, or shorten ASSAY_RETENTION_DAYS.",
    ),
    "internal_error": Remedy(
        "A fault of Assay's own.",
        "The log has the details under `request_id` or the job's id: please report it with them.",
    ),
}
