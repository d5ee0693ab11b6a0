import type { ExecuteResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { DownloadFile, Picture } from "../shared/files/blob";
import { Tag } from "../shared/values/marks";
import { SafeHtml } from "../shared/files/safe-html";
import { tierWords } from "../shared/values/isolation";
import { Printed } from "../shared/code/program-output";
import { took } from "../shared/values/time";

const VERDICTS: Readonly<Record<string, string>> = {
  ok: "It ran to its end.",
  user_error: "The code raised an error.",
  timeout_wall: "It took longer than its limit.",
  timeout_cpu: "It used more processor time than its limit.",
  memory: "It needed more memory than its limit.",
  output: "It wrote far more than its limit.",
  disk: "It wrote more to disk than its limit.",
  processes: "It started more processes than its limit.",
  signal: "It ended by a signal.",
  cancelled: "It was cancelled.",
  rejected: "The sandbox refused it.",
};

/** A run's verdict in words, its value, displays, output and files. */
export function ExecuteResultView({ result }: { result: ExecuteResult }) {
  return (
    <div className="stack">
      <div className="bar">
        <Tag tone={result.verdict === "ok" ? "good" : "bad"}>{result.verdict.replaceAll("_", " ")}</Tag>
        {VERDICTS[result.verdict]}
        <span className="muted">
          {took(result.usage.wall_ms / 1000)}
          {result.usage.peak_memory_mb < 1 ? "" : `, ${result.usage.peak_memory_mb.toFixed(0)} MB at most`}, in {tierWords(result.isolation.tier)}
        </span>
      </div>
      {result.error ? (
        <div className="callout bad">
          <b>
            {visible(result.error.type)}: {visible(result.error.message)}
          </b>
          {result.error.traceback ? <pre className="mono wrapped">{visible(result.error.traceback)}</pre> : null}
        </div>
      ) : null}
      {result.value ? (
        <section>
          <h3>
            Value <span className="muted">{visible(result.value.type)}</span>
          </h3>
          <pre className="code wrap" tabIndex={0}>
            {visible(result.value.text)}
          </pre>
        </section>
      ) : null}
      {result.displays.map((display, index) => (
        <DisplayView key={index} display={display} />
      ))}
      {(["stdout", "stderr"] as const).map((name) =>
        result[name] === "" || (name === "stderr" && isTraceback(result)) ? null : (
          <section key={name}>
            <h3>{name}</h3>
            <Printed text={result[name]} name={name} />
          </section>
        ),
      )}
      {result.truncated ? <p className="muted">The output was cut in the middle.</p> : null}
      {result.artifacts.length > 0 ? (
        <div className="bar">
          {result.artifacts.map((file) => (
            <DownloadFile key={file.path} fileId={file.file_id} name={file.path} />
          ))}
        </div>
      ) : null}
    </div>
  );
}

/** Whether all that the program wrote there is the traceback, which is shown above already. */
function isTraceback({ error, stderr }: ExecuteResult): boolean {
  return error?.traceback != null && stderr.trim() === error.traceback.trim();
}

export function DisplayView({ display }: { display: { media_type: string; text?: string | null; file_id?: string | null } }) {
  if (display.media_type.startsWith("image/") && display.file_id) return <Picture fileId={display.file_id} alt="A display of the code" />;
  if (display.text !== null && display.text !== undefined) {
    if (display.media_type === "text/html") return <SafeHtml html={display.text} title="A display of the code" />;
    return (
      <pre className="code wrap" tabIndex={0}>
        {visible(display.text)}
      </pre>
    );
  }
  return display.file_id ? <DownloadFile fileId={display.file_id} name={`display (${display.media_type})`} /> : null;
}
